/** Rules for switching, draining and undraining a node, from the reports of all nodes. */
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { SeenNode } from '../../ports/site-nodes.ts';

/** A node whose last report is older than this counts as dead. */
export const SILENT_SECONDS = 5;

/** True for a standby that can take over the site. */
export const canLead = ({ role, engine, version, seconds, drain }: SeenNode): boolean =>
  role === 'standby' && engine === 'up' && version !== null && seconds <= SILENT_SECONDS && drain === null;
/** True for a node that is being drained, does not lead and has no call. */
export const isDrained = ({ role, drain, calls }: Pick<SeenNode, 'role' | 'drain' | 'calls'>): boolean =>
  drain !== null && role === 'standby' && calls === 0;

const cannot = (why: ReturnType<typeof say>): ServiceError => new ServiceError('node_not_ready', why);
/** Throws `not_found`. */
export function nodeOf(all: readonly SeenNode[], name: string): SeenNode {
  const found = all.find((node) => node.name === name);
  if (found !== undefined) return found;
  const names = all.map((node) => node.name).join(', ');
  throw new ServiceError('not_found', say`there is no node ${name}; there are: ${names}`);
}
/** Throws `not_found`, and `node_not_ready` if this node cannot take over the site. */
export function checkSwitch(all: readonly SeenNode[], name: string): void {
  const to = nodeOf(all, name);
  if (to.drain !== null) throw cannot(say`${name} is being drained: end the drain first`);
  if (to.holds) throw cannot(say`${name} leads the site already`);
  if (!canLead(to))
    throw cannot(say`${name} cannot lead the site: it must be a standby with a running engine`);
}
/** Throws `not_found`, and `node_not_ready` if this node cannot be drained. */
export function checkDrain(all: readonly SeenNode[], name: string): void {
  const node = nodeOf(all, name);
  if (node.role === 'web')
    throw cannot(
      say`${name} is a web node and needs no drain: stop its service, and its clients connect to another node`,
    );
  if (node.role === 'home')
    throw cannot(
      say`${name} is a home node and cannot be drained: its people have no phones while its service is stopped`,
    );
  if (node.holds && !all.some(canLead)) throw cannot(say`${name} leads the site, and no standby can take it`);
}
/** Throws `not_found`, and `node_not_ready` for a node without a drain. */
export function checkUndrain(all: readonly SeenNode[], name: string): void {
  if (nodeOf(all, name).drain === null) throw cannot(say`${name} is not being drained`);
}
