/** The engine nodes of a site as an administrator sees and switches them, from any machine that reaches its database. */
import type { Clock } from '../ports/clock.ts';
import type { SeenNode, SiteNodes } from '../ports/site-nodes.ts';
import {
  canLead,
  checkDrain,
  checkSwitch,
  checkUndrain,
  isDrained,
  nodeOf,
} from '../features/nodes/state.ts';
import { drainText } from './drain.ts';

const ASK_MS = 500;
/** A switch that takes longer is reported as failed; the nodes may still complete it. */
const SWITCH_MS = 60_000;

/** An administrator's wish that the nodes cannot fulfil; its message is for people. */
export class NodesError extends Error {
  override name = 'NodesError';
}
function roleOf(node: SeenNode): string {
  if (node.role === 'web' || node.role === 'home') return node.role;
  const role = node.holds ? 'leads' : canLead(node) ? 'standby, ready' : 'standby, not ready';
  const drain = drainText(node);
  return drain === null ? role : `${role.split(',', 1)[0]}, ${drain}`;
}
/** One line for each node. */
export function nodeLines(nodes: readonly SeenNode[]): string[] {
  return nodes.map((node) => {
    const seen = `seen ${node.seconds.toFixed(0)} s ago`;
    const problem = node.problem === null ? '' : `  ${node.problem}`;
    const bus = node.bus === null ? '' : `  NATS ${node.bus ? 'connected' : 'away'}`;
    const behind = node.behind === null ? '' : `  ${node.behind} events behind`;
    return `${node.name}  ${roleOf(node)}  engine ${node.engine}  version ${node.version ?? 'none'}${behind}${bus}  ${seen}  ${node.url}  ${node.holder.location}${problem}`;
  });
}
/** Has the active node pass the site to `name`; resolves once that one leads it. Throws `NodesError` and `ServiceError`. */
export async function switchTo(nodes: SiteNodes, name: string, clock: Clock): Promise<void> {
  checkSwitch(await nodes.list(), name);
  await nodes.wish(name);
  for (let waited = 0; waited < SWITCH_MS; waited += ASK_MS) {
    await clock.sleep(ASK_MS);
    const now = (await nodes.list()).find((node) => node.name === name);
    if (now?.role === 'active' && now.engine === 'up' && now.holds) return;
  }
  await nodes.wish(null);
  throw new NodesError(`${name} did not lead the site within ${SWITCH_MS / 1000} s`);
}

export interface DrainOptions {
  readonly seconds: number;
  readonly clock: Clock;
  /** Receives a line each time the drain has come further. */
  readonly print: (line: string) => void;
}
/**
 * Drains a node: resolves once it does not lead and has no call. Throws `ServiceError` where it cannot be drained, and
 * `NodesError` where it still leads or has calls `SWITCH_MS` after `seconds`. The drain continues after that error.
 */
export async function drainNode(
  nodes: SiteNodes,
  name: string,
  { seconds, clock, print }: DrainOptions,
): Promise<void> {
  checkDrain(await nodes.list(), name);
  await nodes.drain(name, seconds);
  for (let said = ''; ;) {
    const node = nodeOf(await nodes.list(), name);
    if (node.drain === null) throw new NodesError(`the drain of ${name} was ended`);
    const state = node.role === 'standby' ? `standby ${node.calls}` : `leads ${node.calls}`;
    if (state !== said) print(`${name}: ${drainText(node)}`);
    said = state;
    if (isDrained(node)) return;
    if (node.drain * 1000 < -SWITCH_MS)
      throw new NodesError(
        node.holds
          ? `${name} still leads the site: no other node could`
          : `${name} no longer leads, but has calls; its engine ends with the last one`,
      );
    await clock.sleep(ASK_MS);
  }
}
/** Ends the drain of a node. Throws `ServiceError` where there is none. */
export async function endDrain(nodes: SiteNodes, name: string): Promise<void> {
  checkUndrain(await nodes.list(), name);
  await nodes.drain(name, null);
}
