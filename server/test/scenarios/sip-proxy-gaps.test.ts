/** Phones that are unreachable for some seconds and slow trunks keep their calls behind the SIP proxy, as without it. */
import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { SECRET, extensions, prepareCompany } from '../support/company.ts';
import { cuttableDatagrams } from '../support/cuttable.ts';
import type { CuttableDatagrams } from '../support/cuttable.ts';
import { callsAt, farAddress } from '../support/far-address.ts';
import { farSidesReached, openFarSide, registerPhone } from '../support/phone.ts';
import type { Phone, PhoneCall } from '../support/phone.ts';
import { sipProxyFor } from '../support/sip-proxy.ts';
import type { TestSipProxy } from '../support/sip-proxy.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';
import { until } from '../support/until.ts';

/** A tunnel, or a change of the network; longer than the proxy waits for a node, shorter than the engine repeats a request. */
const GAP_MS = 8_000;

const north = await farAddress('127.0.0.2');

describe('sip proxy gaps', { concurrency: true }, () => {
  const stack = new AsyncDisposableStack();
  let proxy: TestSipProxy;
  let site: Site;
  before(async () => {
    proxy = stack.use(await sipProxyFor(() => [site]));
    site = stack.use(
      await startSite({
        env: { OFFHOOK_SIP_PROXY: `${proxy.sip.host}:${proxy.sip.port}` },
        prepare: prepareCompany({
          people: extensions(2001, 2011),
          objects: {
            trunk: [{ name: 'north', title: 'North', ...north }],
            outbound_route: [{ name: 'national', patterns: ['0X!'], trunks: [{ trunk: 'north' }] }],
          },
        }),
      }),
    );
    await proxy.start();
    await farSidesReached(site.engineCli, [north]);
  });
  after(() => stack.disposeAsync());
  const desk = async (extension: string, server = proxy.sip): Promise<Phone> =>
    stack.use(await registerPhone({ server, extension, password: SECRET }));
  async function moving(extension: string): Promise<readonly [Phone, CuttableDatagrams]> {
    const way = stack.use(await cuttableDatagrams(proxy.sip));
    return [await desk(extension, way.at), way];
  }
  async function talk(from: Phone, to: Phone): Promise<readonly [PhoneCall, PhoneCall]> {
    const out = await from.invite(to.extension);
    const incoming = await to.incoming(out);
    await incoming.answer();
    await out.answered();
    out.play('tone');
    incoming.play('tone');
    await Promise.all([out.hears(), incoming.hears()]);
    return [out, incoming];
  }

  test('sip proxy gaps - a transfer ends no call of a phone that is unreachable meanwhile', async () => {
    const [phone, way] = await moving('2001');
    const next = await desk('2003');
    const [out, incoming] = await talk(phone, await desk('2002'));
    way.cut();
    await incoming.transfer('2003');
    const there = await next.incoming();
    await there.answer();
    there.play('tone');
    await wait(GAP_MS);
    way.mend();
    await Promise.all([out.hears(), there.hears()]);
    await there.hangup();
    await out.ended();
    assert.equal(out.endedBy, 'them');
  });
  test('sip proxy gaps - a phone learns afterwards that its call has ended', async () => {
    const [phone, way] = await moving('2004');
    const [out, incoming] = await talk(phone, await desk('2005'));
    way.cut();
    await incoming.hangup();
    await wait(GAP_MS);
    way.mend();
    await out.ended();
    assert.equal(out.endedBy, 'them');
  });
  test('sip proxy gaps - a phone stops ringing whose caller gave up meanwhile', async () => {
    const [phone, way] = await moving('2006');
    const out = await (await desk('2007')).invite('2006');
    const incoming = await phone.incoming(out);
    incoming.ring();
    await out.ringing();
    way.cut();
    await out.hangup();
    await wait(GAP_MS);
    way.mend();
    await incoming.ended();
  });
  test('sip proxy gaps - a phone rings as soon as it is back', async () => {
    const [phone, way] = await moving('2008');
    way.cut();
    const out = await (await desk('2009')).invite('2008');
    await wait(GAP_MS);
    way.mend();
    const incoming = await phone.incoming(out);
    await incoming.answer();
    await out.answered();
    await out.hangup();
  });
  test('sip proxy gaps - a trunk answers late', async () => {
    const out = await (await desk('2010')).invite('0301234567');
    await until('the call at the trunk', () => callsAt(north) > 0);
    await wait(GAP_MS);
    await using carrier = await openFarSide({ server: proxy.sip, extension: '110', at: north });
    const incoming = await carrier.incoming(out);
    await incoming.answer();
    await out.answered();
    await out.hangup();
  });
  test('sip proxy gaps - a new request of a phone is answered soon while its node is silent', async () => {
    await using node = dgram.createSocket('udp4').bind(0, '127.0.0.1');
    await once(node, 'listening');
    const { address: host, port } = node.address();
    await using other = await sipProxyFor(() => [{ base: site.base, sip: { host, port } }]);
    await other.start();
    await assert.rejects(
      registerPhone({ server: other.sip, extension: '2011', password: SECRET }),
      /answered with SIP\/2.0 408/,
    );
  });
  test('sip proxy gaps - a node gets 100 when its trunk has sent it, because a silent trunk is no slow one', async () => {
    await using node = dgram.createSocket('udp4').bind(0, '127.0.0.1');
    await using trunk = dgram.createSocket('udp4').bind(0, '127.0.0.1');
    await Promise.all([once(node, 'listening'), once(trunk, 'listening')]);
    const { address: host, port } = node.address();
    await using other = await sipProxyFor(() => [{ base: site.base, sip: { host, port } }]);
    await other.start();
    const answers: string[] = [];
    node.on('message', (data) => answers.push(data.toString().split('\r\n')[0]!));
    const to = `sip:x@127.0.0.1:${trunk.address().port}`;
    const lines = [
      `INVITE ${to} SIP/2.0`,
      `Via: SIP/2.0/UDP ${host}:${port};rport;branch=z9hG4bKnode`,
      `Route: <sip:${other.sip.host}:${other.sip.port};lr>`,
      'Max-Forwards: 70',
      `From: <sip:node@${host}>;tag=1`,
      `To: <${to}>`,
      'Call-ID: silent',
      'CSeq: 1 INVITE',
      `Contact: <sip:node@${host}:${port}>`,
      'Content-Length: 0',
    ];
    const arrived = new Promise<Buffer>((resolve) => {
      // The proxy repeats it after half a second, long after an answer of its own.
      let copies = 0;
      trunk.on(
        'message',
        (data) => data.toString().startsWith('INVITE') && (copies += 1) === 2 && resolve(data),
      );
    });
    node.send(`${lines.join('\r\n')}\r\n\r\n`, other.sip.port, other.sip.host);
    const invite = (await arrived).toString();
    const heard = (): readonly string[] => answers.filter((one) => one.startsWith('SIP/2.0'));
    assert.deepEqual(heard(), []);
    const trying = invite
      .split('\r\n')
      .filter((line) => /^(Via|From|To|Call-ID|CSeq):/i.test(line))
      .join('\r\n');
    trunk.send(
      `SIP/2.0 100 Trying\r\n${trying}\r\nContent-Length: 0\r\n\r\n`,
      other.sip.port,
      other.sip.host,
    );
    await until('its answer', () => heard().length > 0);
    assert.deepEqual(heard(), ['SIP/2.0 100 Trying']);
  });
});
