import type { SipCredentials, SipGrant } from '../ports/sip.ts';
import { FrameError } from '../websocket/frames.ts';
import { NO_RESPONSE, proofsOf, withResponses } from './sip-digest.ts';
import type { SipProof } from './sip-digest.ts';

const SWEEP_MS = 5_000;
/** Open connections of one session; a device has one, and a second while it reconnects. */
const MAX_CONNECTIONS = 8;

/**
 * Connections of each session. A proof made with a session's SIP password is replaced by one made with the device's
 * secret at the engine, every other proof by a response that the engine rejects. `end` closes a connection.
 */
export function createSipSessions<C extends object>(
  credentials: SipCredentials,
  end: (connection: C, reason: string) => void,
) {
  const bySession = new Map<number, Set<C>>();
  const sessionsOf = new WeakMap<C, Set<number>>();
  /** Closed connections; one may close while the store looks up its proof. */
  const gone = new WeakSet<C>();

  function endAll(sessionId: number): void {
    for (const connection of bySession.get(sessionId) ?? []) end(connection, 'the session ended');
  }
  const stop = credentials.onSessionEnded(endAll);
  const sweep = setInterval(() => {
    for (const id of bySession.keys()) if (credentials.endsAt(id) === null) endAll(id);
  }, SWEEP_MS);
  sweep.unref();

  /** False if the session ended or the connection closed while the store looked up the proof. */
  function bind(connection: C, { session_id }: SipGrant): boolean {
    if (gone.has(connection) || credentials.endsAt(session_id) === null) return false;
    const all = bySession.get(session_id) ?? new Set();
    all.add(connection);
    bySession.set(session_id, all);
    const own = sessionsOf.get(connection) ?? new Set();
    sessionsOf.set(connection, own.add(session_id));
    const [oldest] = all;
    if (all.size > MAX_CONNECTIONS && oldest !== undefined)
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
      const good = grant !== null && bind(connection, grant);
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
        const all = bySession.get(id);
        all?.delete(connection);
        if (all?.size === 0) bySession.delete(id);
      }
      sessionsOf.delete(connection);
    },
    close(): void {
      clearInterval(sweep);
      stop();
    },
  };
}
