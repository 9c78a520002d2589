/** The engine's link, the live model that follows it, and the loop between them. */
import os from 'node:os';
import { rfc3339 } from '../core/clock.ts';
import { Waking } from '../features/push/waking.ts';
import { sharedPhones } from '../features/pbx-config/site.ts';
import { NetworkBlocks } from '../features/sip-security/blocks.ts';
import { createSipSecurity } from '../features/sip-security/service.ts';
import { EngineLoop } from '../journal/engine-loop.ts';
import { createLiveView } from '../journal/live.ts';
import { createModel } from '../pbx/model.ts';
import type { Config } from './config.ts';
import { homesOf } from './homes.ts';
import type { SiteFeatures, SiteParts } from './site.ts';
import { namedAddresses } from './trunk-lookup.ts';

export interface EngineParts extends SiteParts, SiteFeatures {}
export type EngineSide = Awaited<ReturnType<typeof createEngineSide>>;

/** Loopback, proxies, and the networks of the setting; `own` are those of this machine's interfaces. */
const sparedNetworks = ({ sipNeverBlock, sipProxies, trustProxy }: Config): readonly string[] => [
  '127.0.0.1',
  '::1',
  // Every phone behind the proxy has the proxy's address.
  ...sipProxies.map(({ host }) => host),
  ...trustProxy,
  ...sipNeverBlock.flatMap((entry) =>
    entry === 'own'
      ? Object.values(os.networkInterfaces()).flatMap((all) => all?.flatMap((one) => one.cidr ?? []) ?? [])
      : [entry],
  ),
];
/** Connects nothing: the loop does so when it begins. */
export async function createEngineSide(parts: EngineParts, stack: AsyncDisposableStack) {
  const { audit, clock, config, directory, engineHosts, engineSite, journal, log, node, push, store } = parts;
  const sipSecurity = createSipSecurity({
    audit,
    clock,
    log,
    isAccount: (account) =>
      directory.byEndpoint(account) !== undefined ||
      sharedPhones(directory.config().phones).some(({ endpoint }) => endpoint === account),
  });
  stack.defer(() => sipSecurity.close());
  const engine = engineSite.createEngine({
    refused(refusal) {
      sipSecurity.refused(refusal);
      blocks.refused(refusal);
    },
    wake: (request) => void waking.asked(request),
    others: directory.config().engines,
    homes: homesOf(directory),
  });
  const model = createModel();
  const live = createLiveView(model.view);
  const loop = new EngineLoop({ engine, model, journal, log });
  const blocks = await NetworkBlocks.open({
    store,
    audit,
    clock,
    log,
    publish: loop.publish,
    spared: () => [
      ...sparedNetworks(config),
      ...directory.config().engines.map(({ host }) => host),
      ...engineHosts(),
    ],
    phones: async () => [
      ...(await engineSite.phoneAddresses()),
      // The engine looks up a name only when it reads its files.
      ...(await namedAddresses(directory.config().trunks, config)),
    ],
    enforce: (networks) => engineSite.blockNetworks(networks),
    firewall: engineSite.firewall,
    ports: () => [config.sipListen.port, directory.config().network?.tls_port ?? []].flat(),
  });
  stack.defer(directory.onChange(() => blocks.configured()));
  const waking = new Waking({
    push,
    engine,
    tell: loop.tell,
    wait_seconds: config.pushWaitSeconds,
    clock,
    log,
  });
  stack.defer(() => waking.close());
  return {
    common: { audit, clock, directory, live: live.view, log, publish: loop.publish, store },
    waking,
    sipSecurity,
    blocks,
    engine,
    live: live.view,
    publishedQueues: () => model.publishedQueues,
    adoptQueues: model.adoptQueues,
    liveChanged: () => live.changed(),
    loop,
    /** State of the engine in the topic `system`. */
    engineStatus: () => {
      const { link, reason, since } = engine.status();
      return { node, up: live.view.live, link, reason, since: rfc3339(since) };
    },
    watchEngine: () => engineSite.watch(() => live.view.live),
  };
}
