/** A home node: it never leads. Its engine has people and queues of its own, and is controlled by the leading node. */
import { siteOf } from '../adapters/asterisk/apply/joined-config.ts';
import { systemClock } from '../core/clock.ts';
import { StartError, messageOf } from '../core/errors.ts';
import { followDeletions } from '../features/recordings/disposal.ts';
import { HomeFiles } from '../features/pbx-config/apply/home.ts';
import type { Check } from '../http/health.ts';
import { createMetrics } from '../http/metrics.ts';
import { listenAsStandby } from '../http/standby.ts';
import type { EngineSite } from '../ports/engine-site.ts';
import type { Common } from '../ports/common.ts';
import type { NodeReport, SeenNode, SiteNodes } from '../ports/site-nodes.ts';
import type { OtherEngine, Site } from '../ports/site.ts';
import type { Config } from './config.ts';
import { openAsteriskSite } from './asterisk-site.ts';
import { isEveryAddress, readSip, sipOf } from './home-engines.ts';
import { TermGate, homeRoutes } from './home-calls.ts';
import { serveMetrics } from './listen.ts';
import { newerVersion } from './newer-version.ts';
import { sharedFilesCheck } from './shared-files.ts';
import { holderOf, openSiteDatabase, whenReachable } from './server-site.ts';
import { knownSite } from './site-id.ts';
import { sealingKey, shareKey, siteKey, siteSecret } from './site-key.ts';
import { appliedSite, nameTaken, newestVersion, nodeUrlOf } from './standby.ts';
import type { StandbyOptions } from './standby.ts';
import { openFolder } from './stores.ts';

const LOOK_MS = 1_000;

/** The engine of the node that leads the site, as others reach it. */
function leadingOf(nodes: readonly SeenNode[]): OtherEngine {
  const node = nodes.find((one) => one.holds);
  const sip = readSip(node?.sip);
  if (node === undefined || sip === null)
    throw new Error('the leading node has not reported the address of its SIP yet');
  if (isEveryAddress(sip.host))
    throw new Error(
      `the node ${node.name} listens for SIP at every address: its OFFHOOK_SIP_LISTEN has to name the one that other engines reach`,
    );
  return { node: node.name, ...sip };
}

interface Parts extends Common<'clock' | 'log' | 'store'> {
  readonly config: Config;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  readonly nodes: SiteNodes;
}
/** Resolves once there is a site that this version can read, and its key is here. */
async function untilBegun({ config, signal, clock, say, nodes, store }: Parts): Promise<void> {
  const waiting = { clock, say, signal };
  await whenReachable(waiting, () => shareKey(nodes, config.data));
  for (let said = false; ; said = true) {
    const [site, newer] = await whenReachable(waiting, async () => [
      await knownSite(store).catch(() => null),
      await newerVersion(store),
    ]);
    if (site !== null && newer === null) return;
    if (!said) say(newer ?? 'Waiting for a node that leads the site.');
    await clock.sleep(LOOK_MS, signal);
  }
}
function filesOf({ config, signal, clock, log, nodes, store }: Parts, engineSite: EngineSite): HomeFiles {
  const { exchange } = engineSite;
  const leading = async (): Promise<OtherEngine> => leadingOf(await nodes.list());
  return new HomeFiles({
    engine: exchange.engineConfig,
    clock,
    log,
    async read() {
      const { version, site } = await appliedSite(store, config, signal);
      return { version, site: siteHere(site, config.node!, config.sipListen, await leading()) };
    },
    newest: async () => JSON.stringify([await newestVersion(store), await leading()]),
    restart: () => exchange.restartWhenConvenient(),
    running: () => exchange.running(),
    mailboxes: (owners) => engineSite.moveMailboxes(owners),
  });
}

/** Runs until `signal` is aborted. Throws `StartError` where another running node has the same name. */
export async function runHome(options: StandbyOptions): Promise<void> {
  const { config, signal } = options;
  const clock = systemClock;
  await using stack = new AsyncDisposableStack();
  const { log } = openFolder(config, stack);
  const say = (line: string): void => options.print(`  ${line}\n`);
  const { siteLog, nodes, store } = openSiteDatabase(config, log, stack);
  const own = config.node!;
  const parts: Parts = { config, signal, clock, log, say, nodes, store };
  try {
    await untilBegun(parts);
    const key = await siteKey(config.data);
    const engineSite = await openAsteriskSite({
      config,
      log,
      clock,
      say,
      home: true,
    });
    const { exchange } = engineSite;
    const files = filesOf(parts, engineSite);
    const stop = new AbortController();
    exchange.begin({
      signal: stop.signal,
      configure: (lives) => files.write(lives),
      refit: () => files.refit(),
      known: () => Promise.resolve(),
    });
    stack.defer(async () => {
      stop.abort();
      const stays = signal.reason === 'SIGUSR2' || signal.reason === 'fault' || !signal.aborted;
      await (stays ? exchange.release() : exchange.stop());
    });
    if (config.sharedFiles === null)
      stack.use(followDeletions({ store, node: own, folder: engineSite.folders.recordings, clock, log }));
    const gate = new TermGate(() => files.unsettle());
    const { manager } = engineSite;
    let active: string | null = null;
    const checks: readonly Check[] = [
      { name: 'engine', run: async () => ({ ok: exchange.running(), detail: exchange.state() }) },
      { name: 'configuration', run: async () => files.finding() },
      sharedFilesCheck(config),
    ];
    const standby = { engineUp: () => exchange.running(), checks, active: () => active };
    const listener = await listenAsStandby(config.listen, {
      ...standby,
      nodes: homeRoutes({
        node: own,
        secret: siteSecret(key, 'nodes'),
        sealingKey: sealingKey(key),
        gate,
        files,
        records: engineSite.callRecords,
        voicemail: engineSite.voicemail,
        manager: () => (exchange.running() ? manager!.port : null),
        accounts: manager!.accounts,
        log,
      }),
    });
    stack.defer(() => listener.close());
    await serveMetrics(config, { metrics: createMetrics(), ...standby }, log, stack);
    const holder = await holderOf(config.data);
    const report = (): NodeReport => ({
      name: own,
      holder,
      url: nodeUrlOf(config),
      role: 'home',
      engine: exchange.running() ? 'up' : 'down',
      version: files.version,
      problem: files.problem,
      head: null,
      calls: null,
      bus: null,
      sip: sipOf(config),
    });
    say(`Listening at ${nodeUrlOf(config)} as the node of an engine that does not lead.`);
    let away = false;
    for (;;) {
      try {
        if (!(await nodes.report(report()))) throw nameTaken(own);
        const term = (await siteLog.state())?.term;
        if (term !== undefined) gate.raise(term);
        active = (await nodes.list()).find((node) => node.holds)?.url ?? null;
        await files.follow(signal);
        away = false;
      } catch (error) {
        if (error instanceof StartError || signal.aborted) throw error;
        if (!away) log.warn({ error: messageOf(error) }, 'the site could not be followed; retrying');
        away = true;
      }
      await clock.sleep(LOOK_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
/** The part of the site for this engine. An engine that the configuration does not list has no people. */
function siteHere(site: Site, own: string, sip: Omit<OtherEngine, 'node'>, leading: OtherEngine): Site {
  const { engines = [] } = site;
  const named = engines.some(({ node }) => node === own);
  return siteOf(named ? site : { ...site, engines: [...engines, { node: own, ...sip }] }, own, leading);
}
