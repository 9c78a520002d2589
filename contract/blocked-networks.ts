import { z } from 'zod';

/** Networks whose SIP requests the engine rejects for a time, because of earlier requests. */
export const BlockedNetwork = z
  .object({
    id: z.int(),
    network: z.string().describe('A /24 of IPv4 or a /64 of IPv6, such as `203.0.113.0/24`.'),
    reason: z
      .enum(['password', 'account', 'address'])
      .describe(
        'Of the last refused request: a wrong password, an account that nobody has, an address that may not use the account.',
      ),
    requests: z.int().describe('Refused requests that led to it.'),
    since: z.iso.datetime(),
    until: z.iso.datetime(),
  })
  .meta({ id: 'BlockedNetwork' });
export type BlockedNetwork = z.infer<typeof BlockedNetwork>;
export const BlockedNetworks = z.object({
  success: z.literal(true),
  enforced: z
    .boolean()
    .describe(
      'False where the engine does not reject their requests yet: it is away, or waits for its restart after an update.',
    ),
  firewall: z
    .enum(['off', 'active', 'unavailable'])
    .describe(
      'Whether the firewall of the machine drops their packets too: `off` without `OFFHOOK_FIREWALL`; `unavailable` where it cannot, with the reason in the check `firewall`.',
    ),
  networks: z.array(BlockedNetwork),
});
export type BlockedNetworks = z.infer<typeof BlockedNetworks>;
export const BlockedNetworkId = z.strictObject({
  id: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'must be the id of a network')
    .transform(Number),
});
