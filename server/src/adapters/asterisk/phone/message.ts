/** One SIP message. Header names are kept in lower case; a header may occur several times. */
export interface SipMessage {
  /** `INVITE sip:1002@host SIP/2.0` or `SIP/2.0 200 OK`. */
  readonly start: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

const COMPACT: Readonly<Record<string, string>> = {
  v: 'via',
  f: 'from',
  t: 'to',
  i: 'call-id',
  m: 'contact',
  l: 'content-length',
  c: 'content-type',
  o: 'event',
  r: 'refer-to',
};

/** Reads one datagram; undefined for a keep-alive or data that is not SIP. */
export function parseMessage(data: Buffer): SipMessage | undefined {
  const text = data.toString('utf8');
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [start, ...lines] = text.slice(0, end).split('\r\n');
  if (!start?.includes('SIP/2.0')) return undefined;
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    return [COMPACT[name] ?? name, line.slice(colon + 1).trim()] as const;
  });
  return { start, headers, body: text.slice(end + 4) };
}
export const formatMessage = (m: SipMessage): Buffer =>
  Buffer.from(
    [
      m.start,
      ...m.headers.map(([name, value]) => `${name}: ${value}`),
      `content-length: ${Buffer.byteLength(m.body)}`,
      '',
      m.body,
    ].join('\r\n'),
  );

/** The first value of a header, or the empty string. */
export const header = (m: SipMessage, name: string): string => m.headers.find(([n]) => n === name)?.[1] ?? '';
export const headersNamed = (m: SipMessage, name: string): string[] =>
  m.headers.filter(([n]) => n === name).map(([, value]) => value);
/** Status of a response, 0 for a request. */
export const statusOf = (m: SipMessage): number => Number(/^SIP\/2\.0 (\d{3})/.exec(m.start)?.[1] ?? 0);
/** Method of a request, or of a response's request. */
export const methodOf = (m: SipMessage): string =>
  statusOf(m) > 0 ? (header(m, 'cseq').split(/\s+/)[1] ?? '') : (m.start.split(' ')[0] ?? '');
export const tagOf = (value: string): string => /;tag=([^;>\s]+)/.exec(value)?.[1] ?? '';
export const uriOf = (value: string): string => /<([^<>]+)>/.exec(value)?.[1] ?? value.split(';')[0] ?? '';
export const branchOf = (m: SipMessage): string => /;branch=([^;\s]+)/.exec(header(m, 'via'))?.[1] ?? '';
