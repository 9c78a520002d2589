import { randomBytes } from 'node:crypto';
import { digestAnswer } from './digest.ts';
import {
  branchOf,
  formatMessage,
  header,
  headersNamed,
  methodOf,
  parseMessage,
  statusOf,
} from './message.ts';
import { openDatagrams, openStream, openWebSocket } from './link.ts';
import { nearHost } from './media.ts';
import type { Link, StreamAddress } from './link.ts';
import type { SipMessage } from './message.ts';

/** After this long a request counts as unanswered. */
const PATIENCE_MS = 60_000;
type Headers = readonly (readonly [string, string])[];
/** Constant parts of a dialog's requests; `remote` and `target` are set once known. */
export interface Dialog {
  readonly callId: string;
  readonly local: string;
  remote: string;
  /** Request URI. */
  target: string;
  /** Proxies between both ends, in order; none by default. */
  routes?: readonly string[];
  cseq: number;
}
export interface Sent {
  readonly response: Promise<SipMessage>;
  cancel(): void;
}
/** Longest time from the first answer to an INVITE to the last. */
const RINGING_MS = 3 * PATIENCE_MS;
const UNANSWERED: SipMessage = { start: 'SIP/2.0 408 No answer from the engine', headers: [], body: '' };
export interface SendOptions {
  readonly headers?: Headers;
  readonly body?: string;
  readonly provisional?: (m: SipMessage) => void;
  /** Time for the first answer, ms; default `PATIENCE_MS`. */
  readonly patience_ms?: number;
}
export interface Reply {
  readonly status: number;
  readonly reason: string;
  /** Added to a To header without a tag. */
  readonly tag?: string;
  /** Another contact than this phone's own. */
  readonly contact?: string;
  readonly headers?: Headers;
  readonly body?: string;
}
/** SIP over a UDP port, TCP, TLS or a WebSocket: transactions, retransmission and digest; calls are in phone.ts. */
export interface SipTransport {
  readonly contact: string;
  send(dialog: Dialog, method: string, options?: SendOptions): Sent;
  /** Acknowledges a 2xx, and again whenever it is repeated. */
  ack(dialog: Dialog, cseq: number): void;
  reply(request: SipMessage, reply: Reply): void;
  /** Resolves once its port is free. */
  close(): Promise<void>;
}
interface Pending {
  readonly cseq: number;
  resolve(m: SipMessage): void;
  provisional(m: SipMessage): void;
  ackFailure(m: SipMessage): void;
  answered: boolean;
}

export const randomTag = (): string => randomBytes(8).toString('hex');

// oxlint-disable-next-line max-lines-per-function -- one closure: transactions, repeats and digest share its maps
export async function openTransport(options: {
  server: StreamAddress;
  username: string;
  password: string;
  onRequest(m: SipMessage): void;
  /** Loopback address and port; any free port of 127.0.0.1 by default. */
  at?: { host: string; port: number };
  /** Uses TLS and trusts this authority (PEM). */
  ca?: string | undefined;
  /** Instead of UDP where no `ca` is given. */
  tcp?: boolean;
  /** Address of a WebSocket, instead of all others. */
  web?: string | undefined;
  /** Gives up a connection that is not open yet. */
  signal?: AbortSignal;
}): Promise<SipTransport> {
  const { server, username, password, ca, tcp = false, web } = options;
  const { at = { host: nearHost(server.host), port: 0 } } = options;
  const receive = (data: Buffer): void => onMessage(data);
  const link: Link = await (web !== undefined
    ? openWebSocket(web, receive, options.signal)
    : ca === undefined && !tcp
      ? openDatagrams(server, at, receive)
      : openStream(server, ca, receive, options.signal));
  const { here, protocol } = link;
  const parameter = protocol.startsWith('WS') ? 'ws' : protocol.toLowerCase();
  const contact = `sip:${username}@${here}${protocol === 'UDP' ? '' : `;transport=${parameter}`}`;
  const pending = new Map<string, Pending>();
  const replies = new Map<string, Buffer>();
  const acks = new Map<string, Buffer>();
  let open = true;
  const write = (data: Buffer): void => {
    if (open) link.send(data);
  };
  const build = (d: Dialog, method: string, cseq: number, branch: string, extra: SendOptions = {}): Buffer =>
    formatMessage({
      start: `${method} ${d.target} SIP/2.0`,
      headers: [
        ['via', `SIP/2.0/${protocol} ${here};rport;branch=${branch}`],
        ...(d.routes ?? []).map((one) => ['route', one] as const),
        ['max-forwards', '70'],
        ['from', d.local],
        ['to', d.remote],
        ['call-id', d.callId],
        ['cseq', `${cseq} ${method}`],
        ['contact', `<${contact}>`],
        ['allow', 'INVITE, ACK, CANCEL, BYE, REFER, NOTIFY, OPTIONS, INFO'],
        ['user-agent', 'offhook-phone'],
        ...(extra.headers ?? []),
        ...(extra.body && !extra.headers?.some(([name]) => name === 'content-type')
          ? ([['content-type', 'application/sdp']] as const)
          : []),
      ],
      body: extra.body ?? '',
    });

  const attempt = (d: Dialog, method: string, extra: SendOptions): Sent => {
    const cseq = ++d.cseq;
    const branch = `z9hG4bK${randomTag()}`;
    const data = build(d, method, cseq, branch, extra);
    const { promise, resolve } = Promise.withResolvers<SipMessage>();
    const entry: Pending = {
      cseq,
      resolve,
      answered: false,
      provisional: (m) => extra.provisional?.(m),
      ackFailure: (m) => {
        if (method !== 'INVITE' || statusOf(m) < 300) return;
        write(build({ ...d, remote: header(m, 'to') }, 'ACK', cseq, branch));
      },
    };
    pending.set(branch, entry);
    const started = Date.now();
    const repeat = (ms: number): void => {
      const timer = setTimeout(() => {
        if (!pending.has(branch)) return;
        // A call may ring for long; an engine that died after its first answer sends no other.
        if (Date.now() - started > (entry.answered ? RINGING_MS : (extra.patience_ms ?? PATIENCE_MS))) {
          pending.delete(branch);
          resolve(UNANSWERED);
          return;
        }
        if (!entry.answered) write(data);
        repeat(Math.min(ms * 2, 2000));
      }, ms);
      timer.unref();
    };
    write(data);
    repeat(500);
    return { response: promise, cancel: () => write(build(d, 'CANCEL', cseq, branch)) };
  };

  const onMessage = (data: Buffer): void => {
    const m = parseMessage(data);
    if (!m) return;
    if (statusOf(m) === 0) {
      const key = `${branchOf(m)} ${methodOf(m)}`;
      const before = replies.get(key);
      if (before) write(before);
      else options.onRequest(m);
      return;
    }
    const entry = pending.get(branchOf(m));
    if (!entry || methodOf(m) === 'CANCEL') {
      const ack = acks.get(`${header(m, 'call-id')} ${header(m, 'cseq')}`);
      if (ack) write(ack);
      return;
    }
    entry.answered = true;
    if (statusOf(m) < 200) {
      entry.provisional(m);
      return;
    }
    pending.delete(branchOf(m));
    entry.ackFailure(m);
    entry.resolve(m);
  };

  return {
    contact,
    send(dialog, method, extra = {}) {
      let current = attempt(dialog, method, extra);
      const answer = async (): Promise<SipMessage> => {
        const first = await current.response;
        const status = statusOf(first);
        if (status !== 401 && status !== 407) return first;
        const challenge = header(first, status === 401 ? 'www-authenticate' : 'proxy-authenticate');
        const credentials = digestAnswer(challenge, { method, uri: dialog.target, username, password });
        const name = status === 401 ? 'authorization' : 'proxy-authorization';
        current = attempt(dialog, method, {
          ...extra,
          headers: [...(extra.headers ?? []), [name, credentials]],
        });
        return current.response;
      };
      return { response: answer(), cancel: () => current.cancel() };
    },
    ack(dialog, cseq) {
      const data = build(dialog, 'ACK', cseq, `z9hG4bK${randomTag()}`);
      acks.set(`${dialog.callId} ${cseq} INVITE`, data);
      write(data);
    },
    reply(request, { status, reason, tag, contact: at = contact, headers = [], body = '' }) {
      const to = header(request, 'to');
      const data = formatMessage({
        start: `SIP/2.0 ${status} ${reason}`,
        headers: [
          ...headersNamed(request, 'via').map((v) => ['via', v] as const),
          ...headersNamed(request, 'record-route').map((v) => ['record-route', v] as const),
          ['from', header(request, 'from')],
          ['to', tag && !to.includes(';tag=') ? `${to};tag=${tag}` : to],
          ['call-id', header(request, 'call-id')],
          ['cseq', header(request, 'cseq')],
          ['contact', `<${at}>`],
          ['allow', 'INVITE, ACK, CANCEL, BYE, REFER, NOTIFY, OPTIONS, INFO'],
          ...headers,
          ...(body ? ([['content-type', 'application/sdp']] as const) : []),
        ],
        body,
      });
      replies.set(`${branchOf(request)} ${methodOf(request)}`, data);
      write(data);
    },
    async close() {
      open = false;
      for (const entry of pending.values()) entry.resolve(UNANSWERED);
      pending.clear();
      await link.close();
    },
  };
}
