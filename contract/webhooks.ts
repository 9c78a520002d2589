/** Webhooks: subscriptions, and the result of each delivery (wire.md section 7). */
import { z } from 'zod';
import { PAGE_FIELDS } from './paging.ts';
import { EVENT_DATA, Envelope } from './events.ts';
import type { EventType } from './events.ts';
import { Topic } from './stream.ts';

/** Limit of webhooks per site. */
export const MAX_WEBHOOKS = 200;
/** Seconds between the attempts of one delivery, each ± 10 %; after the last attempt the delivery is parked. */
export const RETRY_SECONDS = [
  5, 15, 30, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
] as const;
/** Hours for which a replaced secret is used for a second signature. */
export const ROTATION_GRACE_HOURS = 24;
/** Bytes of an answer in the delivery log. */
export const MAX_EXCERPT_BYTES = 1_024;

const EventTypeName = z.enum(Object.keys(EVENT_DATA) as [EventType, ...EventType[]]);
const Url = z.string().min(1).max(2_048);
const Topics = z.array(Topic).min(1).max(64);
const Types = z.array(EventTypeName).min(1).max(64);
const Description = z
  .string()
  .max(200)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters');

/** Body of `POST /api/v1/webhooks`. Events after its creation are delivered; `types` null is every type of the topics. */
export const NewWebhook = z.strictObject({
  url: Url,
  topics: Topics,
  types: Types.nullable().default(null),
  enabled: z.boolean().default(true),
  description: Description.default(''),
});
export type NewWebhook = z.output<typeof NewWebhook>;
/** Body of `PATCH /api/v1/webhooks/:id`. `enabled` true sends waiting events at once, with a new schedule. */
export const WebhookChange = z.strictObject({
  url: Url.optional(),
  topics: Topics.optional(),
  types: Types.nullable().optional(),
  enabled: z.boolean().optional(),
  description: Description.optional(),
});
export type WebhookChange = z.output<typeof WebhookChange>;
export const WebhookId = z.strictObject({
  id: z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of a webhook'),
});

/**
 * `gone`: the target answered 410. `failing`: it failed for too long. `no_owner`: its creator no longer exists. `not_allowed`:
 * the rights of its creator no longer cover any of its topics.
 */
export const DisabledReason = z.enum(['request', 'gone', 'failing', 'no_owner', 'not_allowed']);
export type DisabledReason = z.infer<typeof DisabledReason>;
export const Webhook = z
  .object({
    id: z.int(),
    url: z.string(),
    topics: z.array(z.string()),
    types: z.array(z.string()).nullable(),
    description: z.string(),
    enabled: z.boolean(),
    disabled_reason: DisabledReason.nullable(),
    disabled_at: z.string().nullable(),
    created_at: z.string(),
    /** An extension, or `key:<name>`; the rights of that person or key decide what is delivered. */
    created_by: z.string(),
    /** Every event up to this seq was delivered, parked or not subscribed to. */
    cursor: z.int(),
    /** Events of the journal after the cursor, of any topic. */
    lag: z.int(),
    /** Delivery that blocks the ones after it. */
    retrying: z
      .object({ seq: z.int(), attempts: z.int(), next_attempt_at: z.string(), failing_since: z.string() })
      .nullable(),
    replay: z.object({ from: z.int(), to: z.int() }).nullable(),
    /** Until when the previous secret signs too. */
    previous_secret_until: z.string().nullable(),
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof Webhook>;
export const WebhookReply = z.object({ success: z.literal(true), webhook: Webhook });
/** `secret` is `whsec_` and base64; only this reply contains it. */
export const WebhookSecretReply = WebhookReply.extend({ secret: z.string() });
export const Webhooks = z.object({ success: z.literal(true), webhooks: z.array(Webhook) });

/** Reply of `POST /api/v1/webhooks/:id/test`: the target's answer to one event of the type `webhook.test`. */
export const WebhookTested = z.object({
  success: z.literal(true),
  delivered: z.boolean(),
  /** Null without an answer. */
  status: z.int().nullable(),
  error: z.string().nullable(),
  latency_ms: z.int(),
  excerpt: z.string(),
});
export type WebhookTested = z.infer<typeof WebhookTested>;

/**
 * Content of a test: not an event of the journal, so it has neither `seq` nor `observed`, and only this webhook receives it.
 */
export const WebhookTest = Envelope.omit({ seq: true, observed: true })
  .extend({ type: z.literal('webhook.test'), data: z.object({ webhook_id: z.int() }) })
  .describe(
    'A test of the webhook. It is not an event of the journal: it has neither `seq` nor `observed`, is not repeated, and only this webhook receives it.',
  );

/**
 * Body of `POST /api/v1/webhooks/:id/replay`: seqs, both included; events that were already delivered or passed over are sent
 * again.
 */
export const WebhookReplay = z
  .strictObject({ from: z.int().positive(), to: z.int().positive() })
  .refine(({ from, to }) => from <= to, { path: ['to'], message: 'must not be before from' });

export const DeliveryState = z.enum(['delivered', 'retrying', 'parked', 'gap']);
export type DeliveryState = z.infer<typeof DeliveryState>;
/**
 * One line of the delivery log. A `gap` covers events that could not be sent, `seq` to `to_seq`, because the journal no longer
 * had them.
 */
export const WebhookDelivery = z
  .object({
    id: z.int(),
    state: DeliveryState,
    seq: z.int(),
    to_seq: z.int(),
    /** The `webhook-id` header, the same on every attempt. */
    event_id: z.string().nullable(),
    type: z.string().nullable(),
    replay: z.boolean(),
    attempts: z.int(),
    /** Of the newest attempt; null without an answer. */
    status: z.int().nullable(),
    error: z.string().nullable(),
    latency_ms: z.int().nullable(),
    excerpt: z.string(),
    first_attempt_at: z.string(),
    last_attempt_at: z.string(),
    next_attempt_at: z.string().nullable(),
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;
/** Query of `GET /api/v1/webhooks/:id/deliveries`. */
export const DeliveriesQuery = z.strictObject({
  ...PAGE_FIELDS,
  state: DeliveryState.optional(),
});
export type DeliveriesQuery = z.output<typeof DeliveriesQuery>;
export const WebhookDeliveries = z.object({
  success: z.literal(true),
  deliveries: z.array(WebhookDelivery),
  next_cursor: z.string().nullable(),
});

/** A host name, an address or a network, as `OFFHOOK_WEBHOOK_ALLOW` has them. */
const PrivateTarget = z
  .string()
  .toLowerCase()
  .regex(
    /^[a-z0-9:]([a-z0-9.:/-]{0,251}[a-z0-9:])?$/,
    'must be a host, an address or a network such as 10.1.0.0/16',
  )
  .refine(isTarget, 'must be a host, an address or a network of at least 8 bits such as 10.1.0.0/16');
/** Settings for all webhooks, set by an administrator. */
export const WebhookSettings = z
  .strictObject({
    private_targets: z
      .array(PrivateTarget)
      .max(100)
      .describe('Hosts, addresses and networks that are called although they are not public.'),
  })
  .meta({ id: 'WebhookSettings' });
export type WebhookSettings = z.infer<typeof WebhookSettings>;
export const WebhookSettingsReply = z.object({
  success: z.literal(true),
  settings: z.object({
    ...WebhookSettings.shape,
    fixed_targets: z.array(z.string()).describe('Targets that `OFFHOOK_WEBHOOK_ALLOW` allows in addition.'),
  }),
});
export type WebhookSettingsReply = z.infer<typeof WebhookSettingsReply>;

const NETWORK = /^(.+)\/([0-9]{1,3})$/;
/** A shorter prefix would allow half of the internet. */
const FEWEST_BITS = 8;
const IPV4 =
  /^(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\.(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}$/;
const LABEL = /^[a-z0-9-]{1,63}$/;
const isHost = (text: string): boolean =>
  text.split('.').every((label) => LABEL.test(label) && !label.startsWith('-') && !label.endsWith('-'));
function isTarget(text: string): boolean {
  const [, network, bits] = NETWORK.exec(text) ?? [];
  const address = network ?? text;
  const ipv6 = address.includes(':') && z.ipv6().safeParse(address).success;
  const ip = ipv6 || IPV4.test(address);
  if (bits !== undefined) return ip && Number(bits) >= FEWEST_BITS && Number(bits) <= (ipv6 ? 128 : 32);
  // Text of only digits and dots is a mistyped address.
  return ip || (isHost(text) && !/^[0-9.]+$/.test(text));
}
