import type { SiteNode } from '@offhook/contract/nodes.ts';
import { audited } from '../../commands/audited.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Actor } from '../../ports/operations.ts';
import type { SeenNode, SiteNodes } from '../../ports/site-nodes.ts';
import { canLead, checkDrain, checkSwitch, checkUndrain, isDrained } from './state.ts';

export interface NodesDeps {
  /** Null for a site of one node. */
  readonly nodes: Pick<SiteNodes, 'list' | 'wish' | 'drain'> | null;
  /** Null for a site of one node. */
  readonly lease: { readonly term: number; age(): number } | null;
  readonly audit: Pick<Audit, 'record'>;
}
const MINUTE_SECONDS = 60;

const shown = (node: SeenNode): SiteNode => ({
  name: node.name,
  role: node.role === 'web' || node.role === 'home' ? node.role : node.holds ? 'leads' : 'standby',
  can_lead: canLead(node),
  engine: node.engine,
  version: node.version,
  problem: node.problem,
  behind: node.behind,
  calls: node.calls,
  drain: node.drain === null ? 'no' : isDrained(node) ? 'drained' : 'draining',
  drain_seconds: node.drain === null ? null : Math.max(0, Math.round(node.drain)),
  bus: node.bus === null ? 'none' : node.bus ? 'connected' : 'away',
  seen_seconds: Math.round(node.seconds),
  url: node.url,
});

/** The nodes of the site. Every method rejects with `store_unavailable` while the database is away. */
export class NodesService {
  readonly #deps: NodesDeps;
  constructor(deps: NodesDeps) {
    this.#deps = deps;
  }
  async list() {
    const { lease, nodes } = this.#deps;
    const all = nodes === null ? [] : await nodes.list();
    const age_seconds = Math.round((lease?.age() ?? 0) * 10) / 10;
    return {
      lease: nodes === null || lease === null ? null : { term: lease.term, age_seconds },
      nodes: all.map(shown),
    };
  }
  /** Has this node pass the site to `name` within about a second. Throws `not_found` and `node_not_ready`. */
  async switch(actor: Actor, name: string): Promise<void> {
    await this.#ask(actor, name, { action: 'node.switched', check: checkSwitch }, (nodes) =>
      nodes.wish(name),
    );
  }
  /** Throws `not_found` and `node_not_ready`. */
  async drain(actor: Actor, name: string, minutes: number): Promise<void> {
    const asked = { action: 'node.drained', check: checkDrain, detail: { minutes } };
    await this.#ask(actor, name, asked, (nodes) => nodes.drain(name, minutes * MINUTE_SECONDS));
  }
  /** Throws `not_found` and `node_not_ready`. */
  async undrain(actor: Actor, name: string): Promise<void> {
    await this.#ask(actor, name, { action: 'node.undrained', check: checkUndrain }, (nodes) =>
      nodes.drain(name, null),
    );
  }
  async #ask(
    actor: Actor,
    name: string,
    asked: {
      readonly action: string;
      readonly check: (all: readonly SeenNode[], name: string) => void;
      readonly detail?: AuditEntry['detail'];
    },
    work: (nodes: Pick<SiteNodes, 'wish' | 'drain'>) => Promise<unknown>,
  ): Promise<void> {
    const { audit, nodes } = this.#deps;
    const all = nodes === null ? [] : await nodes.list();
    asked.check(all, name);
    const { action, detail = {} } = asked;
    const line = { action, actor: actor.caller.username, object: name, ip: actor.ip, detail };
    // First the entry, because a switch or a drain may end this process.
    await audited(audit, line, () => work(nodes!));
  }
}
