import type { NodeReport, SiteNodes } from '../../ports/site-nodes.ts';
import type { SharedLog } from './site-log.ts';

/** What the record of nodes in memory holds; several nodes may share one. */
export interface SharedNodes {
  readonly reports: Map<string, { readonly report: NodeReport; readonly at: number }>;
  wish: string | null;
  key: Buffer | null;
}
export const sharedNodes = (): SharedNodes => ({ reports: new Map(), wish: null, key: null });
const SILENT_MS = 60_000;

/** Nodes that end with the process: for tests. */
export function openMemorySiteNodes(
  shared: SharedNodes,
  log: Pick<SharedLog, 'holder' | 'state'>,
  now = (): number => performance.now(),
): SiteNodes {
  return {
    async report(report) {
      const known = shared.reports.get(report.name);
      if (known !== undefined && known.report.holder.id !== report.holder.id && known.at > now() - SILENT_MS)
        return false;
      shared.reports.set(report.name, { report, at: now() });
      return true;
    },
    async list() {
      return [...shared.reports.values()]
        .map(({ report, at }) => ({
          ...report,
          seconds: (now() - at) / 1000,
          holds: log.holder?.id === report.holder.id,
          behind:
            log.state === null || report.head === null ? null : Math.max(0, log.state.head - report.head),
        }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
    async forget({ name, holder }) {
      if (shared.reports.get(name)?.report.holder.id === holder.id) shared.reports.delete(name);
    },
    async wish(name) {
      shared.wish = name;
    },
    wished: async () => shared.wish,
    key: async (own) => (shared.key ??= own),
    close: async () => {},
  };
}
