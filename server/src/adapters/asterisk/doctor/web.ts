/** The way of a browser: SIP over WebSocket through the web port, and media by ICE with keys by DTLS. */
import { within, Blocked, tryWay } from './way.ts';
import type { Line } from './way.ts';

const portOf = (url: URL): string => url.port || (url.protocol === 'https:' ? '443' : '80');

/** The service answers HTTP at `origin`, and a phone over its WebSocket receives its own sound. Throws `Blocked`. */
export async function tryWeb(origin: string, line: Line): Promise<string> {
  const url = new URL(origin);
  const port = portOf(url);
  const late = new Blocked(
    'no_connection',
    { protocol: 'HTTP', address: url.origin },
    `the service at ${url.origin} does not answer: TCP port ${port} is blocked or wrong`,
  );
  const { ok, status } = await within(
    async (signal) => {
      // A connection that is kept would carry the next check, which may be over another family.
      const answer = await fetch(new URL('/healthz', url), { signal, headers: { connection: 'close' } });
      await answer.body?.cancel();
      return answer;
    },
    late,
    line.clock,
  );
  if (!ok)
    throw new Blocked(
      'not_this_service',
      { address: url.origin, status: String(status) },
      `${url.origin} answers with ${status}: TCP port ${port} is not this service`,
    );
  const web = `${url.protocol === 'https:' ? 'wss:' : 'ws:'}//${url.host}/ws`;
  return await tryWay(line, {
    protocol: 'WebSocket',
    web,
    media: `from ${line.near}`,
  });
}
