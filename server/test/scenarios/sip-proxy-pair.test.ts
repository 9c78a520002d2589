/** Two SIP proxies beside each other: desk phones that know both go on by the other one when theirs dies. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { HandOver, PhonesReply } from '@offhook/contract/phones.ts';
import { SECRET, prepareCompany } from '../support/company.ts';
import { apply, ask } from '../support/config-steps.ts';
import { registerPhone } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { freePort } from '../support/ports.ts';
import { provisionedPhone } from '../support/provisioned-phone.ts';
import { sipProxyFor } from '../support/sip-proxy.ts';
import type { TestSipProxy } from '../support/sip-proxy.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';
import { until } from '../support/until.ts';

/** Interval of the registrations of a phone here; of a desk phone it is minutes. */
const EVERY_MS = 1_000;
/** Longer than a loaded machine takes to answer. */
const PATIENCE_MS = 10_000;

/** A phone with a primary and a backup server, as desk phones have them: it registers with the next one where one does not answer. */
class BackedPhone implements AsyncDisposable {
  readonly #open: (server: TestSipProxy) => Promise<Phone>;
  readonly #servers: readonly TestSipProxy[];
  readonly #stop = new AbortController();
  #at = 0;
  #phone: Phone | null = null;
  #running: Promise<void>;
  constructor(servers: readonly TestSipProxy[], open: (server: TestSipProxy) => Promise<Phone>) {
    this.#servers = servers;
    this.#open = open;
    this.#running = this.#run();
  }
  /** The phone while it is registered with this server. */
  at(server: TestSipProxy): Phone | null {
    return this.#servers[this.#at] === server ? this.#phone : null;
  }
  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        if (this.#phone === null) this.#phone = await this.#open(this.#servers[this.#at]!);
        else await this.#phone.register();
      } catch {
        const former = this.#phone;
        this.#phone = null;
        this.#at = (this.#at + 1) % this.#servers.length;
        await former?.[Symbol.asyncDispose]();
      }
      await wait(EVERY_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#phone?.[Symbol.asyncDispose]();
  }
}

describe('sip proxy pair', () => {
  const stack = new AsyncDisposableStack();
  let first: TestSipProxy;
  let second: TestSipProxy;
  let site: Site;
  before(async () => {
    first = stack.use(await sipProxyFor(() => [site]));
    second = stack.use(await sipProxyFor(() => [site]));
    const both = [first, second].map(({ sip }) => `${sip.host}:${sip.port}`).join(',');
    site = stack.use(
      await startSite({
        env: { OFFHOOK_SIP_PROXY: both },
        prepare: prepareCompany({ people: ['2001', '2002', '2003'] }),
      }),
    );
    await first.start();
    await second.start();
    await ask(site, 'POST', '/phones', { name: 'desk', vendor: 'yealink', extensions: ['2003'] });
    assert.equal((await apply(site)).state, 'applied');
  });
  after(() => stack.disposeAsync());
  const open = ({ sip }: TestSipProxy, extension: string, port = 0): Promise<Phone> =>
    registerPhone({
      server: sip,
      extension,
      password: SECRET,
      patience_ms: PATIENCE_MS,
      at: { host: '127.0.0.1', port },
    });
  async function call(from: Phone, to: Phone): Promise<void> {
    const outgoing = await from.invite(to.extension);
    const incoming = await to.incoming(outgoing);
    await incoming.answer();
    await outgoing.answered();
    await outgoing.bridged();
    await incoming.hangup();
    await outgoing.ended();
    assert.equal(outgoing.endedBy, 'them');
  }

  test('sip proxy pair - a phone that we provision registers at the first proxy and has the second as its backup', async () => {
    const { address } = HandOver.parse(await ask(site, 'POST', '/../phones/desk/hand-over'));
    await using phone = await provisionedPhone(address, '001565aabbcc');
    assert.equal(await phone.fetch(), 200);
    assert.deepEqual(
      [1, 2].map((n) => ({
        host: phone.settings.get(`account.1.sip_server.${n}.address`),
        port: Number(phone.settings.get(`account.1.sip_server.${n}.port`)),
      })),
      [first.sip, second.sip],
    );
    await phone.register();
    await until('the registration to be shown', async () => {
      const { phones } = PhonesReply.parse(await ask(site, 'GET', '/../phones'));
      return phones[0]!.registered === true && phones[0]!.up_to_date;
    });
  });
  test('sip proxy pair - phones at both call each other; one dies, and its phone goes on by the other', async (t) => {
    // A desk phone keeps its port, so its address at the engine stays one.
    const port = await freePort();
    await using backed = new BackedPhone([first, second], (server) => open(server, '2001', port));
    await using other = await open(second, '2002');
    const before = await until('the phone at the first proxy', () => backed.at(first));
    await call(other, before);
    await call(before, other);
    await first.die();
    const died = performance.now();
    const now = await until('the phone at the second proxy', () => backed.at(second));
    await call(other, now);
    t.diagnostic(`called ${Math.round(performance.now() - died)} ms after its proxy died`);
    await call(now, other);
    assert.equal((await site.engineCli('pjsip show contacts')).match(/Contact: +2001\//g)?.length, 1);
    await first.start();
    await call(await until('the phone where it is', () => backed.at(second)), other);
  });
});
