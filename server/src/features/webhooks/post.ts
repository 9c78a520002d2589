import { MAX_EXCERPT_BYTES } from '@offhook/contract/webhooks.ts';
import type { OutboundResult, Transport } from '../../outbound/transport.ts';
import { signatures } from './signature.ts';
import type { Settings } from './store.ts';

/** Bytes read of a response, so that its connection can be reused. */
const MAX_ANSWER_BYTES = 65_536;

/** One event as it is sent at `at`, in milliseconds since 1970. */
interface Message {
  readonly id: string;
  readonly body: string;
  readonly at: number;
  /** The `User-Agent`. */
  readonly agent: string;
}
export interface PostResult extends Pick<
  OutboundResult,
  'status' | 'error' | 'latency_ms' | 'retry_after_seconds'
> {
  readonly ok: boolean;
  /** Start of the response body, at most `MAX_EXCERPT_BYTES`. */
  readonly excerpt: string;
}

function headersOf(settings: Settings, { id, body, at, agent }: Message): Record<string, string> {
  const timestamp = Math.floor(at / 1_000);
  const { secret, previous_secret, previous_until } = settings;
  const both = previous_secret !== null && previous_until !== null && at < previous_until;
  return {
    'content-type': 'application/json',
    'user-agent': agent,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures(both ? [secret, previous_secret] : [secret], id, timestamp, body),
  };
}

/** Makes one attempt to deliver a message; never throws. A receiver recognises repetitions by `webhook-id`. */
export async function post(
  transport: Transport,
  settings: Settings,
  message: Message,
  signal: AbortSignal,
): Promise<PostResult> {
  const result = await transport.send(
    {
      method: 'POST',
      url: settings.url,
      headers: headersOf(settings, message),
      body: message.body,
      max_bytes: MAX_ANSWER_BYTES,
      repeatable: true,
    },
    signal,
  );
  const { status, error, latency_ms, retry_after_seconds } = result;
  const ok = status !== null && status >= 200 && status < 300;
  const excerpt = result.body.subarray(0, MAX_EXCERPT_BYTES).toString('utf8');
  return { ok, status, error, excerpt, latency_ms, retry_after_seconds };
}
