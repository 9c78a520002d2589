/** The certificate that the leading node ordered by ACME, kept by a standby: from its first handshake as leader it shows the same one. */
import { messageOf } from '../core/errors.ts';
import type { Ordered, Renewal } from '../ports/certificates.ts';
import type { Common } from '../ports/common.ts';
import type { SeenNode } from '../ports/site-nodes.ts';
import { Leader, certificateOf } from './leader.ts';
import { sealingKey, siteKey, siteSecret } from './site-key.ts';

const ASK_MS = 10_000;
const FIRST_MS = 1_000;

export interface OrderedDeps extends Common<'clock' | 'log'> {
  /** Null where no certificate is ordered. */
  readonly renewal: Renewal | null;
  /** Folder of the data, which has the key of the site. */
  readonly data: string;
}
/** Asks the leading node until the signal. Returns the function that receives the nodes whenever they were seen. */
export async function followOrdered(
  { renewal, data, clock, log }: OrderedDeps,
  signal: AbortSignal,
): Promise<(nodes: readonly SeenNode[]) => void> {
  const key = await siteKey(data);
  const leader = new Leader(siteSecret(key, 'nodes'));
  /** Received but not kept yet; it is tried again without another transfer. */
  let offered: Ordered | null = null;
  async function ask(to: Renewal): Promise<void> {
    const last = offered ?? (await to.ordered());
    offered = (await certificateOf(leader, sealingKey(key), 'ordered', last)) ?? offered;
    // Once this node leads, it orders by itself.
    if (offered === null || signal.aborted) return;
    if (!(await to.keep(offered)))
      throw new Error('it has a fault, or the settings of the order differ here');
    offered = null;
    log.info({}, 'the certificate that the leading node ordered is kept here');
  }
  async function follow(to: Renewal): Promise<void> {
    let said = '';
    while (!signal.aborted) {
      const known = leader.url() !== null;
      const why = known ? await ask(to).then(() => '', messageOf) : said;
      if (why !== '' && why !== said && !signal.aborted)
        log.warn({ error: why }, 'the certificate that the leading node ordered could not be kept here');
      said = why;
      await clock.sleep(known ? ASK_MS : FIRST_MS, signal).catch(() => undefined);
    }
  }
  if (renewal !== null) void follow(renewal);
  return (nodes) => leader.seen(nodes);
}
