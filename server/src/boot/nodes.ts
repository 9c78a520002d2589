/** The engine nodes of a site as an administrator sees and switches them, from any machine that reaches its database. */
import type { Clock } from '../ports/clock.ts';
import type { SeenNode, SiteNodes } from '../ports/site-nodes.ts';
import { canLead } from './node.ts';

const ASK_MS = 500;
/** A switch that took longer is reported as failed; the nodes go on with it or not. */
const SWITCH_MS = 60_000;

/** An administrator's wish that the nodes cannot fulfil; its message is for people. */
export class NodesError extends Error {
  override name = 'NodesError';
}
function roleOf(node: SeenNode): string {
  if (node.role === 'web') return 'web';
  return node.holds ? 'leads' : canLead(node) ? 'standby, ready' : 'standby, not ready';
}
/** One line for each node. */
export function nodeLines(nodes: readonly SeenNode[]): string[] {
  return nodes.map((node) => {
    const seen = `seen ${node.seconds.toFixed(0)} s ago`;
    const problem = node.problem === null ? '' : `  ${node.problem}`;
    const behind = node.behind === null ? '' : `  ${node.behind} events behind`;
    return `${node.name}  ${roleOf(node)}  engine ${node.engine}  version ${node.version ?? 'none'}${behind}  ${seen}  ${node.url}  ${node.holder.location}${problem}`;
  });
}
/** Has the active node pass the site to `name`; resolves once that one leads it. Throws `NodesError`. */
export async function switchTo(
  nodes: SiteNodes,
  name: string,
  clock: Clock,
  signal?: AbortSignal,
): Promise<void> {
  const all = await nodes.list();
  const to = all.find((node) => node.name === name);
  if (to === undefined)
    throw new NodesError(`there is no node ${name}; there are: ${all.map((node) => node.name).join(', ')}`);
  if (to.holds) throw new NodesError(`${name} leads the site already`);
  if (!canLead(to)) throw new NodesError(`${name} cannot lead the site: it is no standby whose engine runs`);
  await nodes.wish(name);
  for (let waited = 0; waited < SWITCH_MS; waited += ASK_MS) {
    await clock.sleep(ASK_MS, signal);
    const now = (await nodes.list()).find((node) => node.name === name);
    if (now?.role === 'active' && now.engine === 'up' && now.holds) return;
  }
  await nodes.wish(null);
  throw new NodesError(`${name} did not lead the site within ${SWITCH_MS / 1000} s`);
}
