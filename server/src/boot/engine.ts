/** The engine's link, the live model that follows it, and the loop between them. */
import { randomUUID } from 'node:crypto';
import { createAsteriskEngine } from '../adapters/asterisk/engine.ts';
import { celFile } from '../adapters/asterisk/instance.ts';
import { watchEngine } from '../adapters/asterisk/watch.ts';
import { rfc3339 } from '../core/clock.ts';
import { createSipSecurity } from '../features/sip-security/service.ts';
import { createEngineLoop } from '../journal/engine-loop.ts';
import { createLiveView } from '../journal/live.ts';
import { createModel } from '../pbx/model.ts';
import type { SiteFeatures, SiteParts } from './site.ts';

export interface EngineParts extends SiteParts, SiteFeatures {}
export type EngineSide = ReturnType<typeof createEngineSide>;

/** Connects nothing: the loop does so when it begins. */
export function createEngineSide(parts: EngineParts, stack: AsyncDisposableStack) {
  const { audit, clock, config, directory, exchange, instance, journal, log, node } = parts;
  const sipSecurity = createSipSecurity({
    audit,
    clock,
    log,
    isAccount: (account) => directory.byEndpoint(account) !== undefined,
  });
  stack.defer(() => sipSecurity.close());
  // A random account that does not exist: its refusals are no attack.
  const healthAccount = `health-${randomUUID()}`;
  const engine = createAsteriskEngine({
    node,
    refused(refusal) {
      if (refusal.account !== healthAccount) sipSecurity.refused(refusal);
    },
    clock,
    log,
    connect: async () =>
      exchange.running()
        ? {
            host: '127.0.0.1',
            port: instance.ami_port,
            events: instance.ami_events,
            actions: instance.ami_actions,
          }
        : null,
  });
  const model = createModel();
  const live = createLiveView(model.view);
  const loop = createEngineLoop({ engine, model, journal, log });
  return {
    sipSecurity,
    engine,
    live: live.view,
    liveChanged: () => live.changed(),
    loop,
    /** State of the engine in the topic `system`. */
    engineStatus: () => {
      const { link, reason, since } = engine.status();
      return { node, up: live.view.live, link, reason, since: rfc3339(since) };
    },
    watchEngine: () =>
      watchEngine({
        up: () => live.view.live && engine.status().link === 'up',
        sip: config.sipListen,
        account: healthAccount,
        placeCall: engine.placeHealthCall,
        recordFile: celFile(instance),
        console: async (text, until) => await exchange.console(text, until),
        clock,
        log,
      }),
  };
}
