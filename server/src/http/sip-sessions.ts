import type { SipCalls, SipCredentials, SipGrant } from '../ports/sip.ts';
import { FrameError } from '../websocket/frames.ts';
import { NO_RESPONSE, proofsOf, withResponses } from './sip-digest.ts';
import type { SipProof } from './sip-digest.ts';

const SWEEP_MS = 5_000;
/** Open connections of one session; a device has one, and a second while it reconnects. */
const MAX_CONNECTIONS = 8;

export interface SipSessionsOptions<C> {
  readonly credentials: SipCredentials;
  readonly calls: SipCalls;
  /** Closes a connection. */
  readonly end: (connection: C, reason: string) => void;
  /** Local port of a connection's side to the engine. */
  readonly portOf: (connection: C) => number;
}
interface Session<C> {
  readonly connections: Set<C>;
  readonly devices: Set<string>;
  /** Ports of its connections, and of closed ones over which a call may have begun that goes on. */
  ports: Set<number>;
}

/**
 * Connections of each session. A proof made with a session's SIP password is replaced by one made with the device's
 * secret at the engine, every other proof by a response that the engine rejects. With a session end its connections and the calls
 * that began over them.
 */
export function createSipSessions<C extends object>({
  credentials,
  calls,
  end,
  portOf,
}: SipSessionsOptions<C>) {
  const bySession = new Map<number, Session<C>>();
  const sessionsOf = new WeakMap<C, Set<number>>();
  /** Closed connections; one may close while the store looks up its proof. */
  const gone = new WeakSet<C>();
  /** Ended sessions, until their calls are ended. */
  const ending = new Set<Pick<Session<C>, 'devices' | 'ports'>>();

  function endAll(sessionId: number): void {
    const session = bySession.get(sessionId);
    if (session === undefined) return;
    bySession.delete(sessionId);
    const { devices, ports, connections } = session;
    const ended = { devices, ports: new Set(ports) };
    ending.add(ended);
    for (const connection of connections) end(connection, 'the session ended');
    // The sweep asks again: the engine may be away, or not yet have reported a call that began a moment ago.
    calls.endOver(ended.devices, ended.ports).catch(() => undefined);
  }
  /** Forgets the closed connections of a session whose devices are in no call. */
  function tidy(sessionId: number, session: Session<C>): void {
    if (![...session.devices].some((device) => calls.mayTalk(device)))
      session.ports = new Set([...session.connections].map(portOf));
    if (session.connections.size === 0 && session.ports.size === 0) bySession.delete(sessionId);
  }
  const stop = credentials.onSessionEnded(endAll);
  const sweep = setInterval(() => {
    for (const one of ending)
      calls.endOver(one.devices, one.ports).then(
        () => ending.delete(one),
        () => undefined,
      );
    for (const [id, session] of bySession)
      if (credentials.endsAt(id) === null) endAll(id);
      else if (session.ports.size > session.connections.size) tidy(id, session);
  }, SWEEP_MS);
  sweep.unref();

  /** False if the session ended or the connection closed while the store looked up the proof. */
  function bind(connection: C, device: string, { session_id }: SipGrant): boolean {
    if (gone.has(connection) || credentials.endsAt(session_id) === null) return false;
    const session: Session<C> = bySession.get(session_id) ?? {
      connections: new Set(),
      devices: new Set(),
      ports: new Set(),
    };
    session.connections.add(connection);
    session.devices.add(device);
    session.ports.add(portOf(connection));
    bySession.set(session_id, session);
    const own = sessionsOf.get(connection) ?? new Set();
    sessionsOf.set(connection, own.add(session_id));
    const [oldest] = session.connections;
    if (session.connections.size > MAX_CONNECTIONS && oldest !== undefined)
      end(oldest, 'the session opened other connections');
    return true;
  }
  function replace(
    connection: C,
    text: string,
    proofs: readonly SipProof[],
    grants: readonly (SipGrant | null)[],
  ): Buffer {
    const responses = proofs.map((proof, i) => {
      const grant = grants[i] ?? null;
      const good = grant !== null && bind(connection, proof.username, grant);
      return [proof, good ? proof.responseOf(grant.secret) : NO_RESPONSE] as const;
    });
    return Buffer.from(withResponses(text, responses), 'latin1');
  }

  return {
    /**
     * The rewritten message for the engine; null if the client's message is forwarded unchanged. Throws
     * `store_unavailable`, `FrameError`.
     */
    rewrite(connection: C, message: Buffer): Buffer | null | Promise<Buffer> {
      const text = message.toString('latin1');
      const proofs = proofsOf(text);
      if (proofs === null) throw new FrameError(1008, 'message with digest headers that cannot be read');
      if (proofs.length === 0) return null;
      const found = proofs.map((proof) =>
        credentials.prove(proof.username, (password) => proof.matches(password)),
      );
      const wait = async (): Promise<Buffer> =>
        replace(connection, text, proofs, await Promise.all(found.map(async (grant) => await grant)));
      return found.some((grant) => grant instanceof Promise)
        ? wait()
        : replace(connection, text, proofs, found as (SipGrant | null)[]);
    },
    /** True once the connection carried a proof of a live session. */
    isProven: (connection: C): boolean => sessionsOf.has(connection),
    closed(connection: C): void {
      gone.add(connection);
      for (const id of sessionsOf.get(connection) ?? []) {
        const session = bySession.get(id);
        session?.connections.delete(connection);
        if (session !== undefined) tidy(id, session);
      }
      sessionsOf.delete(connection);
    },
    close(): void {
      clearInterval(sweep);
      stop();
    },
  };
}
