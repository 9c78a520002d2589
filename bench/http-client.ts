/** A small HTTP client over kept connections, with negligible cost of its own. */
import http from 'node:http';

const LATE_MS = 10_000;
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
export interface Answer {
  readonly status: number;
  readonly body: string;
}
export function request(
  url: string,
  options: { readonly method?: string; readonly token?: string; readonly json?: object } = {},
): Promise<Answer> {
  const { method = 'GET', token, json } = options;
  const body = json === undefined ? undefined : JSON.stringify(json);
  return new Promise((resolve, reject) => {
    const sent = http.request(
      url,
      {
        agent,
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
        );
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.setTimeout(LATE_MS, () => sent.destroy(new Error(`no answer from ${url}`)));
    sent.end(body);
  });
}
/** Runs `work` for each of the items, at most `concurrency` at once. */
export async function together<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const worker = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
export async function signIn(base: string, name: string, password: string): Promise<string> {
  const answer = await request(`${base}/api/mobile/login.php`, {
    method: 'POST',
    json: { username: name, password },
  });
  const { token } = JSON.parse(answer.body) as { token?: string };
  if (answer.status !== 200 || token === undefined)
    throw new Error(`${name} could not sign in: ${answer.status} ${answer.body}`);
  return token;
}
