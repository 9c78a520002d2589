/** Phones at home and in the office call each other through the NAT of both. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { SECRET, extensions, prepareCompany } from '../support/company.ts';
import type { WebPhone } from '../support/browser.ts';
import { registerPhone } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import {
  ADDRESSES,
  inNet,
  isInside,
  letUdpOut,
  mediaPorts,
  noNets,
  rebindHome,
  runInNets,
  watchMediaPorts,
} from '../support/nets/nets.ts';
import { until } from '../support/until.ts';
import { officeNetwork, pageAtHome } from '../support/nets/office.ts';
import { callOffice, remotePhone } from '../support/nets/remote-phone.ts';
import { useBrowser, useSite } from '../support/use-site.ts';

const HEARD = 50;
/** Much less than a second of the desk phone's tone has. */
const TONE_ENERGY = 0.003;

if (isInside) {
  const network = await officeNetwork();
  const server = { host: ADDRESSES.officeGateway, port: network.tls_port };
  describe('remote phones', () => {
    const browser = useBrowser(inNet('home'));
    const site = useSite(() => ({
      env: { OFFHOOK_CORS_ORIGINS: browser().origin },
      host: ADDRESSES.office,
      prepare: prepareCompany({
        people: extensions(2001, 2004),
        encrypted: ['2001'],
        objects: {
          network: [network],
        },
      }),
    }));
    const phoneInOffice = () =>
      registerPhone({
        server: site().sip,
        extension: '2002',
        password: SECRET,
        at: { host: ADDRESSES.office, port: 0 },
      });
    /** The office calls the page, both hear each other, and the page is closed. */
    async function isCalled(page: WebPhone, office: Phone): Promise<void> {
      const call = await office.invite('2003');
      call.play('tone');
      await page.incoming();
      await page.answer();
      await Promise.all([page.talks(), call.hears(HEARD)]);
      await call.hangup();
      await page.ended();
      await page.close();
    }
    let ca = '';
    const homeDesk = () =>
      remotePhone('home', {
        server,
        extension: '2001',
        password: SECRET,
        ca,
        srtp: true,
        at: { host: ADDRESSES.home, port: 0 },
      });
    before(async () => {
      ca = await readFile(path.join(site().dataDir, 'tls', 'ca.pem'), 'utf8');
    });

    test('remote phones - a desk phone at home and one in the office call each other, encrypted outside', async () => {
      await using home = await homeDesk();
      await using office = await phoneInOffice();
      const incoming = await callOffice(home, office, '2002');
      await incoming.hears(HEARD);
      const { decrypted, heard } = await home.hears(HEARD);
      assert.ok(decrypted >= heard);
      await home.hangup();
      await incoming.ended();

      const call = await office.invite('2001');
      call.play('tone');
      assert.equal(await home.answer(), '2002');
      await call.hears(HEARD);
      await home.hears(HEARD);
      await call.hangup();
      await home.ended();
    });

    test('remote phones - a browser at home and a phone in the office call each other', async () => {
      const page = await pageAtHome(site(), browser(), '2003');
      await using office = await phoneInOffice();
      await page.call('2002');
      const incoming = await office.incoming();
      await incoming.answer();
      incoming.play('tone');
      await page.answered();
      await Promise.all([page.talks(), incoming.hears(HEARD)]);
      await page.hangup();
      await incoming.ended();

      await isCalled(page, office);
    });

    test('remote phones - a browser and a desk phone at home call each other, both encrypted', async () => {
      const page = await pageAtHome(site(), browser(), '2003');
      await using desk = await homeDesk();
      /** Energy before can be of the ringing tone, and Opus makes a little even of silence. */
      const bothTalk = async () => {
        const [first, { heard, decrypted }] = await Promise.all([page.talks(), desk.hears(HEARD)]);
        assert.ok(decrypted >= heard);
        const { energyIn } = await page.talks();
        assert.ok(energyIn - first.energyIn > TONE_ENERGY, `${energyIn} after ${first.energyIn}`);
      };
      await page.call('2001');
      assert.equal(await desk.answer(), '2003');
      await page.answered();
      await bothTalk();
      await page.hangup();
      await desk.ended();

      await desk.invite('2003');
      assert.equal((await page.incoming()).number, '2001');
      await page.answer();
      await desk.answered();
      await bothTalk();
      await desk.hangup();
      await page.ended();
      await page.close();
    });

    test('remote phones - a NAT that gives other ports in a call: sound, registration and the next call go on', async () => {
      await using home = await remotePhone('home', {
        server: { host: ADDRESSES.officeGateway, port: site().sip.port },
        extension: '2004',
        password: SECRET,
        at: { host: ADDRESSES.home, port: 0 },
      });
      await using office = await phoneInOffice();
      watchMediaPorts();
      const incoming = await callOffice(home, office, '2002');
      await Promise.all([incoming.hears(HEARD), home.hears(HEARD)]);
      const before = mediaPorts();

      rebindHome();
      await until('media from another port', () => mediaPorts().some((port) => !before.includes(port)), {
        seen: () => ({ before, now: mediaPorts() }),
      });
      await Promise.all([incoming.hears(HEARD), home.hears(HEARD)]);
      await home.renew();
      await home.hangup();
      await incoming.ended();

      const call = await office.invite('2004');
      call.play('tone');
      assert.equal(await home.answer(), '2002');
      await Promise.all([call.hears(HEARD), home.hears(HEARD)]);
      await call.hangup();
      await home.ended();
    });

    test('remote phones - a browser whose firewall drops UDP talks through TURN over TCP', async (t) => {
      t.after(() => letUdpOut(true));
      letUdpOut(false);
      const page = await pageAtHome(site(), browser(), '2003');
      await using office = await phoneInOffice();
      await isCalled(page, office);
    });
  });
} else {
  test('remote phones - through the NAT of an office and of a home', { skip: noNets() }, async () => {
    const { code, out } = await runInNets(import.meta.filename);
    assert.equal(code, 0, out);
  });
}
