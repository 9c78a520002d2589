/** The active engine node among those of its site: its reports, and the hand-over of the site. */
import { messageOf } from '../core/errors.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Lease } from '../journal/lease.ts';
import type { LogHolder } from '../ports/site-log.ts';
import type { NodeReport, SeenNode, SiteNodes } from '../ports/site-nodes.ts';
import { SILENT_SECONDS, canLead } from '../features/nodes/state.ts';
import type { Common } from '../ports/common.ts';
import { drainCheck, drainText } from './drain.ts';
import { nameTaken } from './standby.ts';

const REPORT_MS = 1_000;

export interface ActiveNodeDeps extends Common<'clock' | 'log'> {
  readonly nodes: SiteNodes;
  readonly lease: Lease;
  readonly report: () => Promise<NodeReport>;
  /** Called when this node must stop so that `to` leads the site; may be called again until it has stopped. */
  readonly pass: (to: LogHolder) => void;
  /** Called when another living node has this one's name. */
  readonly end: (why: string) => void;
}
export class ActiveNode {
  readonly #deps: ActiveNodeDeps;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #seen: readonly SeenNode[] = [];
  #own: SeenNode | undefined;
  #lacksHeir = false;
  constructor(deps: ActiveNodeDeps) {
    this.#deps = deps;
    this.#running = this.#run().catch(() => undefined);
  }
  checks(): readonly Check[] {
    const { lease } = this.#deps;
    return [
      {
        name: 'lease',
        run: async () => ({
          ok: lease.held(),
          detail: `term ${lease.term}, renewed ${lease.age().toFixed(1)} s ago`,
        }),
      },
      { name: 'nodes', needed: false, run: async () => this.#finding() },
      drainCheck(() => this.#own),
    ];
  }
  gauges(metrics: Metrics): void {
    const { lease } = this.#deps;
    metrics.gauge('offhook_node_active', 'Whether this node leads the site.', () => Number(lease.held()));
    metrics.gauge('offhook_node_term', 'Term under which this node leads the site.', () => lease.term);
    metrics.gauge('offhook_node_lease_seconds', 'Seconds since the lease was renewed.', () => lease.age());
    metrics.gauge(
      'offhook_nodes_standby',
      'Standbys that could take the site now.',
      () => this.#ready().length,
    );
  }
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
  #ready(): readonly SeenNode[] {
    return this.#seen.filter(canLead);
  }
  #finding(): { ok: boolean; detail: string } {
    return { ok: this.#ready().length > 0, detail: shownNodes(this.#seen) };
  }
  async #run(): Promise<void> {
    const { clock, log } = this.#deps;
    let away = false;
    for (;;) {
      try {
        await this.#look();
        away = false;
      } catch (error) {
        if (!away) log.warn({ error: messageOf(error) }, 'this node could not report its state; retrying');
        away = true;
      }
      await clock.sleep(REPORT_MS, this.#stop.signal);
    }
  }
  async #look(): Promise<void> {
    const { nodes, report, log, pass, end } = this.#deps;
    const own = await report();
    if (!(await nodes.report(own))) end(nameTaken(own.name).message);
    this.#seen = await nodes.list();
    this.#own = this.#seen.find(({ name }) => name === own.name);
    if (this.#own !== undefined) await this.#drain(this.#own);
    const wish = await nodes.wished();
    if (wish === null) return;
    await nodes.wish(null);
    const to = this.#seen.find((node) => node.name === wish);
    if (to === undefined || !canLead(to)) {
      log.warn(
        { node: wish },
        'the site cannot be handed over to this node: it must be a standby with a running engine',
      );
      return;
    }
    log.warn({ node: wish }, 'this node hands over the site');
    pass(to.holder);
  }
  /** Passes the site on once this node, while it is being drained, has no call or the time of the drain is over. */
  async #drain({ drain }: SeenNode): Promise<void> {
    if (drain === null) return;
    const { log, pass, report } = this.#deps;
    // Counted again: a call may have begun after the report and before the drain.
    const { calls } = await report();
    if (calls !== 0 && drain > 0) return;
    const heir = this.#ready().toSorted((a, b) => (a.behind ?? Infinity) - (b.behind ?? Infinity))[0];
    if (heir !== undefined) {
      log.warn({ node: heir.name, calls }, 'this node is being drained: it hands over the site');
      pass(heir.holder);
    } else if (!this.#lacksHeir)
      log.warn({}, 'this node cannot be drained yet: no other node can lead the site');
    this.#lacksHeir = heir === undefined;
  }
}
/** All nodes in one line, for health. */
export const shownNodes = (nodes: readonly SeenNode[]): string =>
  nodes
    .map((node) => {
      const { name, role, engine, version, seconds, problem } = node;
      const drain = drainText(node);
      const silent = seconds > SILENT_SECONDS ? `, silent for ${Math.round(seconds)} s` : '';
      const fault = problem === null ? '' : `, ${problem}`;
      return `${name} ${role}, engine ${engine}, version ${version ?? 'none'}${drain === null ? '' : `, ${drain}`}${silent}${fault}`;
    })
    .join('; ');
