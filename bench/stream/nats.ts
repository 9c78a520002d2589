/** The part of the protocol of NATS that a load of thousands of clients needs. */

/** Stream of the events, the subject it stores, and the one it publishes each stored event on. */
export const STREAM = 'EVENTS';
export const STORED = 'presence';
export const REPUBLISHED = 'stored.presence';

const HELLO =
  'CONNECT {"verbose":false,"pedantic":false,"headers":true,"lang":"bench","version":"1","protocol":1}\r\n';
export const publish = (subject: string, text: string, reply = ''): string =>
  `PUB ${subject} ${reply === '' ? '' : `${reply} `}${Buffer.byteLength(text)}\r\n${text}\r\n`;
/** A subscriber of the events; `PONG` answers it. */
export const SUBSCRIBE = `${HELLO}SUB ${REPUBLISHED} 1\r\nPING\r\n`;
/** First bytes of a publisher. */
export const BEGIN = HELLO;
/** A consumer of the stream from an event on; `client` names its inbox. */
export function consume(client: number, from: number): string {
  const inbox = `_INBOX.client${client}`;
  const config = {
    deliver_subject: inbox,
    deliver_policy: 'by_start_sequence',
    opt_start_seq: from,
    ack_policy: 'none',
    mem_storage: true,
    inactive_threshold: 5_000_000_000,
  };
  const asked = JSON.stringify({ stream_name: STREAM, config });
  return `${HELLO}SUB ${inbox} 1\r\nSUB ${inbox}.api 2\r\n${publish(`$JS.API.CONSUMER.CREATE.${STREAM}`, asked, `${inbox}.api`)}`;
}

const CR = 13;
/**
 * Calls `message` with the head of each message and the bounds of its text, `word` with each other line, and returns the
 * number of used bytes; the rest is the start of one.
 */
export function eachMessage(
  bytes: Buffer,
  end: number,
  message: (head: readonly string[], from: number, to: number) => void,
  word: (line: string) => void,
): number {
  let at = 0;
  while (at < end) {
    const stop = bytes.indexOf(CR, at);
    if (stop < 0 || stop + 2 > end) break;
    const line = bytes.toString('latin1', at, stop);
    const headers = line.startsWith('HMSG ');
    if (!headers && !line.startsWith('MSG ')) {
      word(line);
      at = stop + 2;
      continue;
    }
    const head = line.split(' ');
    const to = stop + 2 + Number(head.at(-1));
    if (to + 2 > end) break;
    message(head, stop + 2 + (headers ? Number(head.at(-2)) : 0), to);
    at = to + 2;
  }
  return at;
}
