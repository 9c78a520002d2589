/** A reader of server-sent events for tests. */
import { GiveUp, PATIENCE_MS, until } from './until.ts';

export interface SseMessage {
  readonly id: string;
  readonly event: string;
  readonly data: string;
  readonly retry: string;
  /** Comment lines, e.g. heartbeats. */
  readonly comment: string;
}
export interface SseClient {
  readonly response: Response;
  readonly messages: readonly SseMessage[];
  readonly ended: boolean;
  next(event: string, ms?: number): Promise<SseMessage & { readonly json: Record<string, unknown> }>;
  /** Seq of every event so far. */
  seqs(): number[];
  stop(): void;
}
function parse(block: string): SseMessage {
  const fields: Record<string, string> = {};
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    fields[line.slice(0, at)] = line.slice(at + 1).replace(/^ /, '');
  }
  const { id = '', event = '', data = '', retry = '', '': comment = '' } = fields;
  return { id, event, data, retry, comment };
}
export async function openSse(
  url: string,
  token: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<SseClient> {
  const abort = new AbortController();
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: abort.signal,
  });
  const messages: SseMessage[] = [];
  const given = new Set<SseMessage>();
  let ended = false;
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body!) {
      rest += decoder.decode(chunk as Uint8Array, { stream: true });
      const blocks = rest.split('\n\n');
      rest = blocks.pop() ?? '';
      messages.push(...blocks.map(parse));
    }
  };
  void read()
    .catch(() => {})
    .finally(() => (ended = true));
  return {
    response,
    messages,
    get ended() {
      return ended;
    },
    async next(event, ms = PATIENCE_MS) {
      const message = await until(
        `a message ${event}`,
        () => {
          const found = messages.find((one) => one.event === event && one.data !== '' && !given.has(one));
          if (found === undefined && ended) throw new GiveUp('it ended');
          return found;
        },
        { ms, every: 2, seen: () => ({ last: messages.slice(-4) }) },
      );
      given.add(message);
      return { ...message, json: JSON.parse(message.data) as Record<string, unknown> };
    },
    seqs: () => messages.filter((one) => one.event === '' && one.data !== '').map((one) => Number(one.id)),
    stop: () => abort.abort(),
  };
}
