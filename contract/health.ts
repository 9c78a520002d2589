import { z } from 'zod';

const EngineWord = z.enum(['up', 'down']);
/** 200 of `/healthz`: the process responds. */
export const Health = z.object({ status: z.literal('ok'), engine: EngineWord });
/** 200 or 503 of `/readyz`; `standby`: another node leads the site. `details` only for Admin and on the loopback listener. */
export const Readiness = z.object({
  status: z.enum(['ready', 'not_ready', 'standby']),
  checks: z.record(z.string(), z.enum(['ok', 'failing'])),
  details: z.record(z.string(), z.string()).optional(),
});
export type Readiness = z.infer<typeof Readiness>;
