import { z } from 'zod';

const MOST_MINUTES = 24 * 60;

/** A node of a site of several nodes, as it last reported. */
export const SiteNode = z
  .object({
    name: z.string().describe('`OFFHOOK_NODE` of it.'),
    role: z
      .enum(['leads', 'standby', 'web', 'home'])
      .describe('`home`: its engine has people and queues of its own, and it never leads.'),
    can_lead: z.boolean().describe('True for a standby that the site can be passed to now.'),
    engine: z.enum(['up', 'down', 'none']).describe('`none` at a web node.'),
    version: z
      .int()
      .nullable()
      .describe('Version of the configuration that its engine holds; null for none yet.'),
    problem: z.string().nullable().describe('Why its engine does not hold the newest version.'),
    behind: z.int().nullable().describe('Events that its copy lacks; null where it is not known.'),
    calls: z
      .int()
      .nullable()
      .describe(
        'Calls at its engine; null where they are not counted, or where an engine that led before has calls left: it does not tell how many.',
      ),
    drain: z
      .enum(['no', 'draining', 'drained'])
      .describe('`drained`: it has no call and does not lead until its drain is ended.'),
    drain_seconds: z
      .number()
      .nullable()
      .describe('Seconds until it passes the site on with the calls that are left; null without a drain.'),
    bus: z
      .enum(['connected', 'away', 'none'])
      .describe('Whether NATS answers it; `none` where it uses none.'),
    seen_seconds: z.number().describe('Seconds since its last report.'),
    url: z.string().describe('Where clients reach the node itself.'),
  })
  .meta({ id: 'SiteNode' });
export type SiteNode = z.infer<typeof SiteNode>;
export const SiteNodesReply = z.object({
  success: z.literal(true),
  lease: z
    .object({ term: z.int(), age_seconds: z.number() })
    .nullable()
    .describe(
      'The lease of the node that leads, and seconds since it was renewed; null for a site of one node.',
    ),
  nodes: z.array(SiteNode).describe('By name; empty for a site of one node.'),
});
export type SiteNodesReply = z.infer<typeof SiteNodesReply>;
export const NodeName = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9]{0,31}$/, 'must be the name of a node'),
});
export const DrainBody = z.strictObject({
  minutes: z
    .int()
    .min(0)
    .max(MOST_MINUTES)
    .default(30)
    .describe('After so many minutes it passes the site on with the calls that are left.'),
});
