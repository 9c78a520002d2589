/** The phone of the console where only the TURN server leads to the exchange. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { findLiving } from '../../server/src/adapters/asterisk/process/living.ts';
import { loadInstance } from '../../server/src/adapters/asterisk/process/instance-file.ts';
import { apply, ask } from '../../server/test/support/config-steps.ts';
import { freePort, freeRange } from '../../server/test/support/ports.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { assertNoTrouble, buildFirst } from './rig.ts';
import { button, connect, phoneOf, says, talks } from './phone-rig.ts';

const RELAY = `{
  const Own = RTCPeerConnection;
  window.RTCPeerConnection = class extends Own {
    constructor(config) { super({ ...config, iceTransportPolicy: 'relay' }); }
    setConfiguration(config) { super.setConfiguration({ ...config, iceTransportPolicy: 'relay' }); }
  };
}`;
/** Attempts of the phone to find another path while there is none. */
const REPAIRS = 3;
const STATE = `window.connections.findLast((one) => one.connectionState !== 'closed')?.iceConnectionState`;

/** Keeps the states of the connection in `window.iceStates`. */
const WATCH_STATES = `{
  const peer = window.connections.findLast((one) => one.connectionState !== 'closed');
  window.iceStates = [];
  peer.addEventListener('iceconnectionstatechange', () => window.iceStates.push(peer.iceConnectionState));
}`;

describe('turn', () => {
  before(buildFirst);
  const browser = useBrowser();
  const site = useSite();
  const pid = async (): Promise<number> =>
    (JSON.parse(await readFile(path.join(site().dataDir, 'engine/turn.json'), 'utf8')) as { pid: number })
      .pid;
  const switchOn = async (port: number | null): Promise<void> => {
    const from = await freeRange(60);
    const relay = { from, to: from + 59 };
    const objects = (await ask(site(), 'GET', '/network')) as { objects?: { etag: string }[] };
    const there = (objects.objects ?? []).length > 0;
    await ask(site(), there ? 'PATCH' : 'POST', there ? '/network/site' : '/network', {
      turn_port: port,
      turn_relay_ports: relay,
    });
    const { state, ...rest } = await apply(site());
    assert.equal(state, 'applied', JSON.stringify(rest));
  };
  const stateOf = (page: Page): Promise<string> => page.evaluate(STATE) as Promise<string>;

  before(async () => switchOn(await freePort()));

  test('turn - gone in a call and back: the phone restarts ICE with the new server, and the call goes on', async () => {
    const a = await phoneOf(site(), browser(), '1008', { before: RELAY });
    const b = await phoneOf(site(), browser(), '1009');
    await connect(a, '1009', b);
    await Promise.all([talks(a, '1008'), talks(b, '1009')]);
    const engine = findLiving(loadInstance(site().dataDir)!)!.pid;
    const before = await pid();
    await a.evaluate(WATCH_STATES);
    // Another port and other relay ports: the relay of the call is gone, and comes back elsewhere.
    await switchOn(await freePort());
    assert.notEqual(await pid(), before);
    // The page keeps the states, as the loss may be over before it is looked at.
    await until('the path of the sound is lost', async () =>
      /disconnected|failed/.test((await a.evaluate('window.iceStates.join()')) as string),
    );
    await until('another path', async () => /^(connected|completed)$/.test(await stateOf(a)));
    await Promise.all([talks(a, '1008'), talks(b, '1009')]);
    assert.equal(findLiving(loadInstance(site().dataDir)!)!.pid, engine, 'the engine was left alone');
    await says(a, 'In the call');
    await button(a, 'Hang up').click();
    await says(a, 'Call ended');
    for (const page of [a, b]) assertNoTrouble(page);
  });

  test('turn - frozen in a call and awake again: the sound comes back over the same server', async () => {
    const a = await phoneOf(site(), browser(), '1008', { before: RELAY });
    const b = await phoneOf(site(), browser(), '1009');
    await connect(a, '1009', b);
    await Promise.all([talks(a, '1008'), talks(b, '1009')]);
    const server = await pid();
    let repairs = 0;
    a.on('request', (request) => (repairs += Number(request.url().endsWith('/session/sip'))));
    process.kill(server, 'SIGSTOP');
    try {
      await until('repairs that reach no server', () => repairs >= REPAIRS, { seen: () => ({ repairs }) });
    } finally {
      process.kill(server, 'SIGCONT');
    }
    await until('another path', async () => /^(connected|completed)$/.test(await stateOf(a)), {
      seen: () => ({ repairs }),
    });
    await Promise.all([talks(a, '1008'), talks(b, '1009')]);
    assert.equal(await pid(), server);
    await button(a, 'Hang up').click();
    await says(a, 'Call ended');
    for (const page of [a, b]) assertNoTrouble(page);
  });
});
