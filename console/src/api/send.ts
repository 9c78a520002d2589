/** One request of the page with its session, without renewal or retry. */
export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Null while the answer is received. */
  readonly ms: number | null;
  readonly bytes: number;
  /** Text of the body, at most `MOST_SHOWN` characters; null for other data. */
  readonly text: string | null;
  readonly cut: boolean;
  readonly file: Blob | null;
}
export const MOST_SHOWN = 200_000;
/** Limit of a stored answer, so that an endless one cannot fill the memory. */
const MOST_KEPT = 64 * 2 ** 20;
const TEXT = /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml)|application\/(?:x-ndjson|javascript))/;

function pretty(text: string, type: string): string {
  if (!/json/.test(type)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
/** Reports the received part, also of an endless answer; the signal ends it. Rejects without an answer. */
export async function send(
  address: string,
  init: RequestInit,
  tell: (answer: Answer) => void,
): Promise<void> {
  const began = performance.now();
  const response = await fetch(address, { ...init, cache: 'no-store', credentials: 'same-origin' });
  const type = response.headers.get('content-type') ?? '';
  const isText = TEXT.test(type);
  const { status, statusText } = response;
  const headers = [...response.headers].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  const said = (ended: boolean): Answer => {
    const whole = ended && bytes <= MOST_KEPT ? pretty(text, type) : text;
    return {
      status,
      statusText,
      headers,
      ms: ended ? Math.round(performance.now() - began) : null,
      bytes,
      text: isText ? whole.slice(0, MOST_SHOWN) : null,
      cut: isText && whole.length > MOST_SHOWN,
      file: ended && bytes > 0 ? new Blob(chunks, { type }) : null,
    };
  };
  const reader = response.body?.getReader();
  try {
    for (;;) {
      const part = await reader?.read();
      if (part === undefined || part.done) break;
      bytes += part.value.length;
      if (bytes > MOST_KEPT) {
        await reader?.cancel();
        break;
      }
      chunks.push(part.value);
      if (isText && text.length <= MOST_KEPT) text += decoder.decode(part.value, { stream: true });
      tell(said(false));
    }
  } finally {
    tell(said(true));
  }
}
/** File name given by the service, else from the path. */
export function fileName({ headers }: Answer, address: string): string {
  const disposition = headers.find(([name]) => name === 'content-disposition')?.[1] ?? '';
  const [, given] = /filename="([^"\\/]+)"/.exec(disposition) ?? [];
  if (given !== undefined) return given;
  const type = headers.find(([name]) => name === 'content-type')?.[1] ?? '';
  const [, ending = 'bin'] = /\/(?:[\w.-]+\+)?(json|wav|csv|plain|event-stream|zip)/.exec(type) ?? [];
  const last = address.split('?')[0]?.split('/').filter(Boolean).at(-1) ?? 'answer';
  return `${last.replaceAll(/[^\w-]+/g, '_')}.${ending === 'plain' || ending === 'event-stream' ? 'txt' : ending}`;
}
