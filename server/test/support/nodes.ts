/** Two engine nodes of one site on one machine: own service, engine, ports and data folder each, one database. */
import { canLead } from '../../src/features/nodes/state.ts';
import type { SiteNodes } from '../../src/ports/site-nodes.ts';
import { registerPhone } from './phone.ts';
import type { Phone } from './phone.ts';
import { startSite } from './site.ts';
import type { Site, SiteOptions } from './site.ts';
import { until } from './until.ts';

export interface TestNode {
  readonly name: string;
  readonly site: Site;
  /** Body of `/readyz`; null while nothing answers. */
  readyz(): Promise<{ readonly status: string; readonly checks: Readonly<Record<string, string>> } | null>;
  /** Resolves once it stands by with an engine that holds the configuration. */
  standsBy(ms?: number): Promise<void>;
  /** Resolves once it leads the site and is ready. */
  leads(ms?: number): Promise<void>;
  /** A desk phone registered at the engine of this node. */
  phone(extension: string): Promise<Phone>;
}
export interface TestNodes extends AsyncDisposable {
  readonly a: TestNode;
  readonly b: TestNode;
  /** Passwords of desk phones by extension. */
  readonly passwords: ReadonlyMap<string, string>;
}
/** Resolves once the stored reports say that this node can lead: they come later than what the node itself answers. */
export const ableToLead = (known: Pick<SiteNodes, 'list'>, name: string): Promise<unknown> => {
  let seen: unknown;
  return until(
    `${name} to be reported as able to lead`,
    async () => {
      const node = (await known.list()).find((one) => one.name === name);
      seen = node;
      return node !== undefined && canLead(node);
    },
    { seen: () => ({ seen }) },
  );
};
/** Starts a web node of a site whose store is the database `url`. */
export const startWebNode = (
  name: string,
  url: string,
  settings: Readonly<Record<string, string>> = {},
  options: Pick<SiteOptions, 'main'> = {},
): Promise<Site> =>
  startSite({
    ...options,
    env: {
      OFFHOOK_NODE: name,
      OFFHOOK_NODE_ROLE: 'web',
      OFFHOOK_DATABASE_URL: url,
      OFFHOOK_SITE_STORE: 'postgres',
      ...settings,
    },
  });
/** Starts both; `a` leads. `settings` are those of both. */
export async function startNodes(
  urls: { readonly a: string; readonly b: string },
  settings: Readonly<Record<string, string>> = {},
  options: Pick<SiteOptions, 'main'> = {},
): Promise<TestNodes> {
  await using stack = new AsyncDisposableStack();
  const env = (name: string, url: string) => ({
    OFFHOOK_NODE: name,
    OFFHOOK_DATABASE_URL: url,
    OFFHOOK_SITE_STORE: 'postgres',
    ...settings,
  });
  const first = stack.use(await startSite({ ...options, env: env('a', urls.a) }));
  const second = stack.use(await startSite({ ...options, env: env('b', urls.b), wait: 'answers' }));
  const passwords = new Map((await first.credentials()).map((one) => [one.extension, one.sip_password]));
  const nodeOf = (name: string, site: Site): TestNode => {
    const node: TestNode = {
      name,
      site,
      async readyz() {
        try {
          const response = await fetch(`${site.base}/readyz`, { signal: AbortSignal.timeout(3_000) });
          return (await response.json()) as Awaited<ReturnType<TestNode['readyz']>>;
        } catch {
          return null;
        }
      },
      async standsBy(ms = 60_000) {
        let seen: unknown;
        await until(
          `node ${name} to stand by`,
          async () => {
            const found = await node.readyz();
            seen = found;
            return (
              found?.status === 'standby' &&
              found.checks['engine'] === 'ok' &&
              found.checks['configuration'] === 'ok' &&
              found.checks['copy'] === 'ok'
            );
          },
          { ms, every: 50, seen: () => ({ seen, tail: site.tail() }) },
        );
      },
      async leads(ms = 60_000) {
        let seen: unknown;
        await until(
          `node ${name} to lead`,
          async () => ((seen = await node.readyz()) as { status: string } | null)?.status === 'ready',
          { ms, every: 50, seen: () => ({ seen, tail: site.tail() }) },
        );
      },
      phone: (extension) =>
        registerPhone({ server: site.sip, extension, password: passwords.get(extension)! }),
    };
    return node;
  };
  const [a, b] = [nodeOf('a', first), nodeOf('b', second)];
  await b.standsBy();
  const held = stack.move();
  return { a, b, passwords, [Symbol.asyncDispose]: () => held.disposeAsync() };
}
