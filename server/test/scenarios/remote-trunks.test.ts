/** Phones at home and the subscriber of a provider call each other through the site's trunk by TLS and SRTP, across both NATs. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, beforeEach, describe, test } from 'node:test';
import { SECRET, extensions, prepareCompany } from '../support/company.ts';
import type { WebPhone } from '../support/browser.ts';
import { ADDRESSES, inNet, isInside, noNets, runInNets } from '../support/nets/nets.ts';
import { officeNetwork, pageAtHome } from '../support/nets/office.ts';
import { PROVIDER, startProvider } from '../support/nets/provider.ts';
import type { Provider } from '../support/nets/provider.ts';
import { remotePhone } from '../support/nets/remote-phone.ts';
import type { RemotePhone } from '../support/nets/remote-phone.ts';
import { takeHeard, tapProvider } from '../support/nets/wiretap.ts';
import { farSidesReached } from '../support/phone.ts';
import { until } from '../support/until.ts';
import { useBrowser, useSite } from '../support/use-site.ts';

const HEARD = 50;
/** Much less than a second of the subscriber's tone has. */
const TONE_ENERGY = 0.003;
const SHOWN = '+49305550';
const DESK = { extension: '2001', number: '+493055501' };
const PAGE = { extension: '2003', number: '+493055503' };

if (isInside) {
  const network = await officeNetwork();
  describe('remote trunks', () => {
    let subscriber: RemotePhone;
    let desk: RemotePhone;
    let page: WebPhone;
    // Before those of the engines: a phone waits for the answer to the end of its registration.
    after(() =>
      Promise.all([page?.close(), desk?.[Symbol.asyncDispose](), subscriber?.[Symbol.asyncDispose]()]),
    );
    const browser = useBrowser(inNet('home'));
    // Before the site, whose trunk would else try again after 30 s only.
    let provider: Provider;
    before(async () => {
      provider = await startProvider();
      tapProvider();
    });
    const site = useSite(() => ({
      env: {
        OFFHOOK_CORS_ORIGINS: browser().origin,
        OFFHOOK_TLS_CERTIFICATE: provider.certificate,
        OFFHOOK_TLS_KEY: provider.key,
        OFFHOOK_TLS_TRUSTED: provider.ca,
      },
      host: ADDRESSES.office,
      prepare: prepareCompany({
        people: extensions(2001, 2003),
        encrypted: [DESK.extension],
        objects: {
          network: [network],
          trunk: [
            {
              name: 'carrier',
              title: 'Carrier',
              ...PROVIDER.tls,
              transport: 'tls',
              srtp: 'required',
              username: PROVIDER.customer,
              password: PROVIDER.secret,
              register: true,
              codecs: ['ulaw'],
              outbound_number: SHOWN,
            },
          ],
          inbound_route: [DESK, PAGE].map(({ extension, number }) => ({
            name: `to-${extension}`,
            trunk: 'carrier',
            number,
            to: { kind: 'extension' as const, key: extension },
          })),
          outbound_route: [
            { name: 'national', patterns: ['0X!'], trunks: [{ trunk: 'carrier', strip: 1, prepend: '+49' }] },
          ],
        },
      }),
    }));
    after(() => provider?.[Symbol.asyncDispose]());
    before(async () => {
      // Each is kept as soon as it is there, so that it is closed even where another one fails.
      await Promise.all([
        remotePhone('public', {
          server: PROVIDER.phones,
          extension: PROVIDER.subscriber,
          password: PROVIDER.secret,
          at: { host: ADDRESSES.provider, port: 0 },
        }).then((phone) => (subscriber = phone)),
        remotePhone('home', {
          server: { host: ADDRESSES.officeGateway, port: network.tls_port },
          extension: DESK.extension,
          password: SECRET,
          ca: await readFile(provider.ca, 'utf8'),
          srtp: true,
          at: { host: ADDRESSES.home, port: 0 },
        }).then((phone) => (desk = phone)),
        pageAtHome(site(), browser(), PAGE.extension).then((phone) => (page = phone)),
        farSidesReached(site().engineCli, [PROVIDER.tls]),
        registered(),
      ]);
    });
    async function registered(): Promise<void> {
      let shown = '';
      await until(
        'the registration of the trunk',
        async () => {
          shown = await site().engineCli('pjsip show registrations');
          return / Registered /.test(shown);
        },
        { seen: () => ({ shown }) },
      );
    }
    beforeEach(() => void takeHeard());

    /** The media of this call was encrypted between office and provider; what the subscriber sends and hears shows it in the clear. */
    function wasEncrypted(): void {
      const { clear, received, sent } = takeHeard();
      assert.ok(clear.size > 0, 'no payload between the provider and its subscriber');
      for (const [way, heads] of Object.entries({ received, sent })) {
        assert.ok(heads.size >= HEARD, `${way}: ${heads.size} different payloads`);
        assert.deepEqual(
          [...heads].filter((one) => clear.has(one)),
          [],
          `${way} in the clear`,
        );
      }
    }
    async function deskTalks(): Promise<void> {
      const [{ heard, decrypted }] = await Promise.all([desk.hears(HEARD), subscriber.hears(HEARD)]);
      assert.ok(decrypted >= heard);
      wasEncrypted();
    }
    async function pageTalks(): Promise<void> {
      const [first] = await Promise.all([page.talks(), subscriber.hears(HEARD)]);
      // Energy before can be of the ringing tone, and Opus makes a little even of silence.
      const { energyIn } = await page.talks();
      assert.ok(energyIn - first.energyIn > TONE_ENERGY, `${energyIn} after ${first.energyIn}`);
      wasEncrypted();
    }

    test('remote trunks - a browser at home calls through the trunk, encrypted, with sound both ways', async () => {
      await page.call('0301234');
      assert.equal(await subscriber.answer(), SHOWN);
      await page.answered();
      await pageTalks();
      await page.hangup();
      await subscriber.ended();
    });

    test('remote trunks - a call of the trunk reaches a browser at home, encrypted, with sound both ways', async () => {
      await subscriber.invite(PAGE.number);
      assert.equal((await page.incoming()).number, PROVIDER.number);
      await page.answer();
      await subscriber.answered();
      await pageTalks();
      await subscriber.hangup();
      await page.ended();
    });

    test('remote trunks - a desk phone at home calls through the trunk, encrypted, with sound both ways', async () => {
      await desk.invite('0301234');
      assert.equal(await subscriber.answer(), SHOWN);
      await desk.answered();
      await deskTalks();
      await desk.hangup();
      await subscriber.ended();
    });

    test('remote trunks - a call of the trunk reaches a desk phone at home, encrypted, with sound both ways', async () => {
      await subscriber.invite(DESK.number);
      assert.equal(await desk.answer(), PROVIDER.number);
      await subscriber.answered();
      await deskTalks();
      await subscriber.hangup();
      await desk.ended();
    });
  });
} else {
  test('remote trunks - through the NAT of an office and of a home', { skip: noNets() }, async () => {
    const { code, out } = await runInNets(import.meta.filename);
    assert.equal(code, 0, out);
  });
}
