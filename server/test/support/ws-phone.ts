/** A phone that registers over SIP on a WebSocket, as a browser or mobile app does. */
import { digestAnswer } from '../../src/adapters/asterisk/phone/digest.ts';
import {
  formatMessage,
  header,
  headersNamed,
  methodOf,
  parseMessage,
  statusOf,
} from '../../src/adapters/asterisk/phone/message.ts';
import type { SipMessage } from '../../src/adapters/asterisk/phone/message.ts';
import { randomTag } from '../../src/adapters/asterisk/phone/transport.ts';
import { until } from './until.ts';

export interface WsPhone extends AsyncDisposable {
  /** Final status of a registration after its challenge; 0 if the socket closed before. */
  register(expires?: number): Promise<number>;
  /** `performance.now()` of each call that rang, in order. */
  readonly rang: readonly number[];
  /** Close code of the socket; null while it is open. */
  readonly closed: number | null;
  /** Waits for the close code. */
  end(ms?: number): Promise<number>;
}
/** Accepts an offer with DTLS and ICE; no media follow. */
function sdpAnswer(offer: string): string {
  const kept = offer
    .split('\r\n')
    .filter((line) => !/^a=(candidate|ice-|fingerprint|setup|end-of|ssrc|msid)/.test(line) && line !== '');
  const print = Array.from({ length: 32 }, () => 'AB').join(':');
  const own = ['a=ice-ufrag:abcd', 'a=ice-pwd:abcdefghijklmnopqrstuvwx', `a=fingerprint:sha-256 ${print}`];
  return `${[...kept, ...own, 'a=setup:active'].join('\r\n')}\r\n`;
}
export async function openWsPhone(options: {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** False leaves requests of the engine unanswered, as a frozen phone does. */
  readonly answers?: boolean;
  /** Behaviour on a call: it rings (by default it answers nothing that could be heard), or takes it without media. */
  readonly calls?: 'ring' | 'take';
  /** Changes the text of each REGISTER before it is sent. */
  readonly writes?: (message: string) => string;
}): Promise<WsPhone> {
  const { url, username, password } = options;
  const socket = new WebSocket(url, ['sip']);
  socket.binaryType = 'arraybuffer';
  let closed: number | null = null;
  const answers: SipMessage[] = [];
  const rang: number[] = [];
  /** Ends a call that rings, as its caller gave it up. */
  let over: (() => void) | undefined;
  type Headers = (readonly [string, string])[];
  function answerCall(invitation: SipMessage, headers: Headers, how: 'ring' | 'take'): void {
    const mine = randomTag();
    const tagged = headers.map(([name, value]) =>
      name === 'to' ? ([name, `${value};tag=${mine}`] as const) : ([name, value] as const),
    );
    const contact = ['contact', `<sip:${mine}@${mine}.invalid;transport=ws>`] as const;
    const reply = (start: string, more: Headers = [], body = ''): void =>
      socket.send(formatMessage({ start, headers: [...tagged, ...more], body }).toString());
    over = () => reply('SIP/2.0 487 Request Terminated');
    reply('SIP/2.0 180 Ringing', [contact]);
    if (how === 'take')
      reply('SIP/2.0 200 OK', [contact, ['content-type', 'application/sdp']], sdpAnswer(invitation.body));
  }
  socket.addEventListener('close', (event) => void (closed = event.code));
  socket.addEventListener('message', ({ data }) => {
    const message = parseMessage(
      typeof data === 'string' ? Buffer.from(data) : Buffer.from(data as ArrayBuffer),
    );
    if (message === undefined) return;
    if (statusOf(message) > 0) answers.push(message);
    else if (methodOf(message) !== 'ACK' && options.answers !== false) {
      const kept = ['via', 'from', 'to', 'call-id', 'cseq'];
      const headers = kept.flatMap((name) =>
        headersNamed(message, name).map((value) => [name, value] as const),
      );
      if (methodOf(message) === 'INVITE' && options.calls !== undefined) {
        rang.push(performance.now());
        answerCall(message, headers, options.calls);
      } else socket.send(formatMessage({ start: 'SIP/2.0 200 OK', headers, body: '' }).toString());
      if (methodOf(message) === 'CANCEL') over?.();
    }
  });
  await until('an open socket', () => socket.readyState === WebSocket.OPEN || closed !== null);
  const callId = randomTag();
  const from = `<sip:${username}@offhook.test>`;
  const tag = randomTag();
  let cseq = 0;
  async function send(expires: number, proof?: string): Promise<SipMessage | null> {
    if (socket.readyState !== WebSocket.OPEN) return null;
    cseq += 1;
    const mine = `${cseq} REGISTER`;
    const headers: (readonly [string, string])[] = [
      ['via', `SIP/2.0/WS ${callId}.invalid;branch=z9hG4bK${randomTag()}`],
      ['max-forwards', '70'],
      ['from', `${from};tag=${tag}`],
      ['to', from],
      ['call-id', callId],
      ['cseq', mine],
      ['contact', `<sip:${callId.slice(0, 8)}@${callId}.invalid;transport=ws>`],
      ['expires', String(expires)],
    ];
    if (proof !== undefined) headers.push(['authorization', proof]);
    const text = formatMessage({ start: 'REGISTER sip:offhook.test SIP/2.0', headers, body: '' }).toString();
    socket.send(options.writes?.(text) ?? text);
    const answer = await until(`an answer to ${mine}`, () =>
      closed !== null ? 'closed' : answers.find((m) => header(m, 'cseq') === mine && statusOf(m) >= 200),
    );
    return answer === 'closed' ? null : answer;
  }
  return {
    async register(expires = 600) {
      const first = await send(expires);
      if (first === null || statusOf(first) !== 401) return first === null ? 0 : statusOf(first);
      const challenge = header(first, 'www-authenticate');
      const request = { method: 'REGISTER', uri: 'sip:offhook.test', username, password };
      const answer = await send(expires, digestAnswer(challenge, request));
      return answer === null ? 0 : statusOf(answer);
    },
    rang,
    get closed() {
      return closed;
    },
    end: () => until('the end of the socket', () => closed ?? undefined),
    async [Symbol.asyncDispose]() {
      socket.close();
      await until(`the end of the socket of ${username}`, () => closed !== null);
    },
  };
}
