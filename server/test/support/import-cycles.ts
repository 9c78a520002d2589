import type { Source } from './sources.ts';

/** Own modules that a file loads at run time; type imports load nothing. */
function loads({ path, text }: Source, files: ReadonlySet<string>): string[] {
  const found: string[] = [];
  for (const m of text.matchAll(/^(?:import|export) (?!type )(?:[^'";]*? from )?'([^']+)'/gm)) {
    const name = m[1]!;
    const target = name.startsWith('@offhook/')
      ? name.slice('@offhook/'.length)
      : new URL(name, `file:///${path}`).pathname.slice(1);
    if (target !== path && files.has(target)) found.push(target);
  }
  return found;
}
/** Files that each file loads; paths start at the root of the checkout. */
export function importGraph(sources: readonly Source[]): Map<string, ReadonlySet<string>> {
  const files = new Set(sources.map(({ path }) => path));
  return new Map(sources.map((source) => [source.path, new Set(loads(source, files))]));
}
/** The same between folders; a load inside one folder is no cycle. */
export function folderGraph(
  files: ReadonlyMap<string, ReadonlySet<string>>,
): Map<string, ReadonlySet<string>> {
  const folderOf = (file: string): string => file.slice(0, file.lastIndexOf('/'));
  const folders = new Map<string, Set<string>>();
  for (const [file, targets] of files) {
    const from = folderOf(file);
    const known = folders.get(from) ?? new Set<string>();
    for (const to of targets) if (folderOf(to) !== from) known.add(folderOf(to));
    folders.set(from, known);
  }
  return folders;
}

/** Groups of nodes that reach each other (Tarjan), each sorted. */
export function cyclesOf(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const found: string[][] = [];
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const open: string[] = [];
  const visit = (node: string): void => {
    order.set(node, order.size);
    low.set(node, order.get(node)!);
    open.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next);
      if (open.includes(next)) low.set(node, Math.min(low.get(node)!, low.get(next)!));
    }
    if (low.get(node) !== order.get(node)) return;
    const group = open.splice(open.indexOf(node));
    if (group.length > 1) found.push(group.toSorted());
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return found.toSorted((a, b) => (a[0]! < b[0]! ? -1 : 1));
}
