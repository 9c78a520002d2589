import type { NodeReport, ContactAddress, SiteNodes } from '../../ports/site-nodes.ts';
import type { SharedLog } from './site-log.ts';

/** Contents of the record of nodes in memory; several nodes may share one. */
export interface SharedNodes {
  readonly reports: Map<string, { readonly report: NodeReport; readonly at: number }>;
  /** Moments at which the drains of nodes end, by the name of the node. */
  readonly drains: Map<string, number>;
  wish: string | null;
  key: Buffer | null;
  /** In the order of their marks. */
  addresses: readonly { readonly mark: number; readonly address: ContactAddress }[];
}
export const sharedNodes = (): SharedNodes => ({
  reports: new Map(),
  drains: new Map(),
  wish: null,
  key: null,
  addresses: [],
});
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
      if (known?.report.holder.id !== report.holder.id) shared.drains.delete(report.name);
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
          drain: shared.drains.has(report.name) ? (shared.drains.get(report.name)! - now()) / 1000 : null,
        }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
    async forget({ name, holder }) {
      if (shared.reports.get(name)?.report.holder.id === holder.id) shared.reports.delete(name);
    },
    async wish(name) {
      shared.wish = name;
    },
    async drain(name, seconds) {
      if (!shared.reports.has(name)) return false;
      if (seconds === null) shared.drains.delete(name);
      else shared.drains.set(name, now() + seconds * 1000);
      return true;
    },
    wished: async () => shared.wish,
    async keepAddresses(holder, addresses) {
      if (log.holder?.id !== holder.id) return;
      const last = shared.addresses.at(-1)?.mark ?? 0;
      const given = new Set(addresses.map((one) => `${one.endpoint} ${one.uri}`));
      shared.addresses = [
        ...shared.addresses.filter(({ address }) => !given.has(`${address.endpoint} ${address.uri}`)),
        ...addresses.map((address, i) => ({ mark: last + i + 1, address })),
      ];
    },
    addresses: async (mark) => ({
      mark: shared.addresses.at(-1)?.mark ?? mark,
      addresses: shared.addresses.filter((one) => one.mark > mark).map(({ address }) => address),
    }),
    key: async (own) => (shared.key ??= own),
    close: async () => {},
  };
}
