/** The SIP proxy of a site: Kamailio in front of its engine nodes, pointed at the one whose `/readyz` is 200. */
import path from 'node:path';
import { CertificateKeeper } from '../adapters/certificates/keeper.ts';
import { EngineLife } from '../adapters/asterisk/sip-proxy/engine-life.ts';
import { SipProxy } from '../adapters/asterisk/sip-proxy/server.ts';
import type { ProxyCounts } from '../adapters/asterisk/sip-proxy/server.ts';
import { obtainPackages } from '../adapters/asterisk/provision/packages.ts';
import { systemClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { bracketed } from '../core/networks.ts';
import type { Check } from '../http/health.ts';
import { createMetrics } from '../http/metrics.ts';
import { SETTINGS } from './settings.ts';
import { ConfigError } from './config.ts';
import type { ProxiedNode } from './setting-values.ts';
import type { Config } from './config.ts';
import { givenFiles } from './asterisk-site.ts';
import { blockedBy } from './blocked-at-proxy.ts';
import { serveMetrics } from './listen.ts';
import { openFolder } from './stores.ts';

const ASK_MS = 1_000;
/** Interval in which the proxy follows what the nodes answered last. */
const FOLLOW_MS = 250;
/** A node that answers later is taken for one that does not lead. */
const ANSWER_MS = 2_000;
/** Between two lines of the log about one silent engine. */
const LOG_MS = 10_000;
const ANY = new Set(['0.0.0.0', '::', 'localhost']);
const nameOf = ({ sip }: ProxiedNode): string => `${bracketed(sip.host)}:${sip.port}`;

const isReady = async ({ url }: ProxiedNode, stop: AbortSignal): Promise<boolean> => {
  try {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(ANSWER_MS)]);
    const response = await fetch(`${url}/readyz`, { signal, redirect: 'error' });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
};
/**
 * Finds the leading node: the one that became ready last. It remains the result while no node is ready, because its
 * calls go on, and while the former leader still reports itself ready.
 */
export class LeaderOfNodes {
  #ready: readonly boolean[] = [];
  #leader: number | null = null;
  /** Index of the node that leads after these answers; null before the first one was ready. */
  next(ready: readonly boolean[]): number | null {
    const became = ready.findIndex((now, i) => now && this.#ready[i] !== true);
    this.#ready = ready;
    if (became >= 0) this.#leader = became;
    return this.#leader;
  }
}

/** Ends the calls that ring for an engine which died since the last time. */
async function endLostRings(
  lives: readonly { readonly node: ProxiedNode; readonly life: EngineLife; ended: number }[],
  proxy: SipProxy,
  log: Log,
): Promise<void> {
  for (const one of lives) {
    const { lostUntil } = one.life;
    if (lostUntil === one.ended) continue;
    await proxy.endRings(one.node.sip, lostUntil);
    // For a silent engine it moves on with the clock.
    if (lostUntil - one.ended > LOG_MS)
      log.warn({ node: nameOf(one.node) }, 'the SIP proxy ends the calls that ring for an engine which died');
    one.ended = lostUntil;
  }
}

/** Runs until `signal` is aborted; with the reason SIGUSR2 the proxy itself continues to run. Throws `ConfigError`. */
export async function runSipProxy(
  config: Config,
  signal: AbortSignal,
  print: (text: string) => void,
): Promise<void> {
  const { cache, debianMirrors, debianSecurity, metricsListen, sipListen, sipProxyNodes } = config;
  if (sipProxyNodes.length === 0)
    throw new ConfigError(
      `${SETTINGS.sipProxyNodes.name}: expected ${SETTINGS.sipProxyNodes.expects}; it names no node`,
    );
  if (ANY.has(sipListen.host))
    throw new ConfigError(
      `${SETTINGS.sipListen.name}=${sipListen.host}:${sipListen.port}: the SIP proxy needs the address that phones use, because it names itself in requests`,
    );
  await using stack = new AsyncDisposableStack();
  const { log } = openFolder(config, stack);
  const clock = systemClock;
  const say = (line: string): void => print(`  ${line}\n`);
  const certificates =
    config.sipTlsPort === null
      ? null
      : new CertificateKeeper({
          folder: path.join(config.data, 'tls'),
          own: givenFiles(config),
          trusted: null,
          clock,
          log,
        });
  await certificates?.ensure([sipListen.host]);
  const proxy = new SipProxy({
    data: config.data,
    listen: sipListen,
    nodes: sipProxyNodes.map(({ sip }) => sip),
    tls: certificates === null ? null : { port: config.sipTlsPort!, ...certificates.files },
    packages: (stop) =>
      obtainPackages({
        cache,
        packages: certificates === null ? ['kamailio'] : ['kamailio', 'kamailio-tls-modules'],
        mirrors: debianMirrors ?? undefined,
        security: debianSecurity ?? undefined,
        progress: say,
        signal: stop,
      }),
    clock,
    log,
  });
  await proxy.begin(signal);
  stack.defer(() => (signal.reason === 'SIGUSR2' ? proxy.release() : proxy.stop()));
  void certificates?.watch(() => proxy.renew(), signal).catch(() => undefined);
  let leader: ProxiedNode | null = null;
  let counts: ProxyCounts = { requests: 0, replies: 0, dropped: 0 };
  const checks: readonly Check[] = [
    { name: 'proxy', run: () => Promise.resolve(proxy.finding()) },
    {
      name: 'leader',
      run: () =>
        Promise.resolve({ ok: leader !== null, detail: leader === null ? 'none yet' : nameOf(leader) }),
    },
  ];
  if (metricsListen !== null) {
    const metrics = createMetrics();
    metrics.gauge('offhook_sip_proxy_up', 'Whether the SIP proxy answers.', () => Number(proxy.finding().ok));
    metrics.gauge(
      'offhook_sip_proxy_starts',
      'Processes of the SIP proxy started since this program began.',
      () => proxy.starts,
    );
    metrics.gaugeBy('offhook_sip_proxy_leader', 'The node that new requests are sent to.', 'node', () =>
      sipProxyNodes.map((node) => [nameOf(node), Number(node === leader)] as const),
    );
    metrics.gaugeBy('offhook_sip_proxy_messages', 'SIP messages that the process received.', 'kind', () =>
      Object.entries(counts),
    );
    await serveMetrics(config, { metrics, engineUp: () => proxy.finding().ok, checks }, log, stack);
  }
  /** Work in intervals; a failure is logged once until it works again. */
  const repeat = async (ms: number, work: () => Promise<void>): Promise<void> => {
    let failing = false;
    while (!signal.aborted) {
      try {
        await work();
        failing = false;
      } catch (error) {
        if (!failing) log.error({ error: messageOf(error) }, 'the SIP proxy does not accept commands');
        failing = true;
      }
      await clock.sleep(ms, signal).catch(() => undefined);
    }
  };
  // Each node is checked independently: a frozen one does not delay the switch to the next one.
  const ready = sipProxyNodes.map(() => false);
  const asking = sipProxyNodes.map((node, i) =>
    repeat(ASK_MS, async () => {
      ready[i] = await isReady(node, signal);
    }),
  );
  const leaders = new LeaderOfNodes();
  const following = repeat(FOLLOW_MS, async () => {
    const index = leaders.next([...ready]);
    const now = index === null ? null : sipProxyNodes[index]!;
    if (now === null || !(await proxy.lead(now.sip)) || now === leader) return;
    leader = now;
    log.warn({ node: nameOf(now) }, 'the SIP proxy forwards to another node');
    say(`SIP of ${bracketed(sipListen.host)}:${sipListen.port} goes to ${nameOf(now)}.`);
  });
  const telling = repeat(ASK_MS, async () => {
    const blocked = leader === null ? null : await blockedBy(leader, sipListen.host, signal);
    if (blocked !== null) await proxy.block(blocked);
    if (metricsListen !== null && proxy.finding().ok) counts = await proxy.counts();
  });
  const lives = sipProxyNodes.map((node) => ({ node, life: new EngineLife(node.sip, { clock }), ended: 0 }));
  const ending = repeat(ASK_MS, () => endLostRings(lives, proxy, log));
  await Promise.all([...asking, ...lives.map(({ life }) => life.follow(signal)), following, telling, ending]);
}
