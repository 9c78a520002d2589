import type { FastifyContextConfig } from 'fastify';

/** One path and the methods it takes. */
export interface RouteEntry {
  readonly path: string;
  readonly methods: ReadonlyMap<string, FastifyContextConfig>;
}
export interface RouteTable {
  /** Throws for a path this table cannot match exactly, so that nothing becomes reachable by accident. */
  add(method: string, path: string, config: FastifyContextConfig): void;
  /** `path` as received, without its query. */
  find(path: string): RouteEntry | undefined;
  /** The GET of exactly this path, if its operation gives the current `ETag` without running (`held`). */
  tagged(path: string): FastifyContextConfig | undefined;
  entries(): readonly RouteEntry[];
}

const PATH = /^\/(?:[A-Za-z0-9._~-]+|:[a-z_]+)?(?:\/(?:[A-Za-z0-9._~-]+|:[a-z_]+))*$/;

/**
 * The only list of reachable paths; 404, 405 and the documents derive from it. Fixed parts of a path match byte for
 * byte: an encoded letter, another case or a doubled slash is another path, so no two spellings share a rule.
 */
export function createRouteTable(): RouteTable {
  const fixed = new Map<string, RouteEntry>();
  const tagged = new Map<string, FastifyContextConfig>();
  const patterns: { readonly matches: RegExp; readonly entry: RouteEntry }[] = [];
  return {
    add(method, path, config) {
      if (!PATH.test(path)) throw new Error(`${path} cannot be a route: no wildcards, no trailing slash`);
      let entry: RouteEntry | undefined =
        fixed.get(path) ?? patterns.find((p) => p.entry.path === path)?.entry;
      if (entry === undefined) {
        entry = { path, methods: new Map() };
        if (path.includes(':')) {
          const source = path.replaceAll('.', '\\.').replaceAll(/:[a-z_]+/g, '[^/]{1,100}');
          patterns.push({ matches: new RegExp(`^${source}$`), entry });
        } else fixed.set(path, entry);
      }
      (entry.methods as Map<string, FastifyContextConfig>).set(method, config);
      if (config.held === undefined) return;
      if (method !== 'GET' || path.includes(':') || config.level === 'public')
        throw new Error(`${method} ${path}: a tag needs a GET of a fixed path and a signed-in caller`);
      tagged.set(path, config);
    },
    find(path) {
      const entry = fixed.get(path);
      if (entry !== undefined) return entry;
      const found = patterns.find((p) => p.matches.test(path))?.entry;
      return found !== undefined && isPlain(path) ? found : undefined;
    },
    tagged: (path) => tagged.get(path),
    entries: () => [...fixed.values(), ...patterns.map((p) => p.entry)],
  };
}
/** No dot segments, no encoded slash, no control characters, no broken encoding. */
function isPlain(path: string): boolean {
  try {
    const decoded = decodeURIComponent(path);
    return !/%2f/i.test(path) && !/\/\.{1,2}(?:\/|$)/.test(decoded) && !/\p{Cc}/u.test(decoded);
  } catch {
    return false;
  }
}
/** Methods of a path, as the `Allow` header lists them. */
export const allowOf = (entry: RouteEntry): string => [...entry.methods.keys()].toSorted().join(', ');

/** The path of a request target in origin or absolute form, without its query. */
export function pathOf(target: string): string {
  let path = target;
  const query = path.indexOf('?');
  if (query >= 0) path = path.slice(0, query);
  if (path.charCodeAt(0) === 0x2f) return path;
  const absolute = /^https?:\/\/[^/]*(\/.*)?$/i.exec(path);
  return absolute === null ? path : (absolute[1] ?? '/');
}
