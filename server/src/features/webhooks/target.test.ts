import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceError } from '../../core/errors.ts';
import { startSink, status } from '../../../test/support/webhook-sink.ts';
import { admin, webhooksRig } from '../../../test/support/webhooks-rig.ts';
import { until } from '../../../test/support/until.ts';
import { WebhookSettings } from '@offhook/contract/webhooks.ts';
import { createGuard } from './target.ts';
import type { Address } from './target.ts';

const outcome = (url: string, allow: string[] = []): string => {
  try {
    return createGuard(allow).readTarget(url).href;
  } catch (error) {
    return (error as ServiceError).code;
  }
};

test('webhook targets - only public addresses in their plain spelling, by http and https', () => {
  for (const url of [
    'http://127.0.0.1/',
    'http://127.8.9.1:8080/x',
    'http://0.0.0.0/',
    'http://10.1.2.3/',
    'http://172.31.255.255/',
    'http://192.168.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://100.64.0.1/',
    'http://100.127.255.255/',
    'http://192.0.0.8/',
    'http://198.18.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:10.0.0.1]/',
    'http://[::ffff:a00:1]/',
    'http://[::127.0.0.1]/',
    'http://[fe80::1]/',
    'http://[fc00::1]/',
    'http://[fd12:3456::1]/',
    'http://[fec0::1]/',
    'http://[ff02::1]/',
    'http://[64:ff9b::a00:1]/',
    'http://[64:ff9b:1::1]/',
    'http://[2002:a00:1::]/',
    'http://[2001::1]/',
    'http://[2001:db8::1]/',
    'http://localhost/',
    'http://LOCALHOST/',
    'http://localhost./',
    'http://a.localhost/',
    'http://example.com./',
    // Other spellings of an address, private or not.
    'http://0x7f000001/',
    'http://2130706433/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://0x08080808/',
    'http://１２７.0.0.1/',
    'http://exa\tmple.com/',
    'http://example.com\\@10.0.0.1/',
    ' http://example.com/',
    'http:example.com/',
    'http:/\\example.com/',
    'file:///etc/passwd',
    'gopher://example.com/',
    'ftp://example.com/',
    'ws://example.com/',
    'javascript:alert(1)',
    'http://user:pass@example.com/',
    'http://user@example.com/',
    'http://:pass@example.com/',
    'http://example.com:22/',
    'http://example.com:25/',
    'http://example.com:0/',
    'https://example.com:5038/',
    'https://example.com/#secret',
  ]) {
    assert.equal(outcome(url), 'webhook_target_refused', JSON.stringify(url));
  }
  for (const url of ['', 'example.com', '/hook', 'http://', 'http://[::1', 'http://example.com:99999/']) {
    assert.equal(outcome(url), 'invalid_request', JSON.stringify(url));
  }
  for (const [url, read] of [
    ['https://crm.example.com/hook?key=1', 'https://crm.example.com/hook?key=1'],
    ['http://example.com', 'http://example.com/'],
    ['https://Example.COM:8443/a', 'https://example.com:8443/a'],
    ['http://8.8.8.8:80/', 'http://8.8.8.8/'],
    ['http://[2606:4700::1111]:8080/', 'http://[2606:4700::1111]:8080/'],
    ['https://xn--bcher-kva.example/', 'https://xn--bcher-kva.example/'],
  ] as const) {
    assert.equal(outcome(url), read);
  }
});

test('webhook targets - what is listed may be called, and only that', () => {
  const allow = ['crm.internal', '10.1.0.0/16', '127.0.0.1', 'fd00::/8', 'localhost'];
  assert.equal(outcome('http://crm.internal:8080/', allow), 'http://crm.internal:8080/');
  assert.equal(outcome('http://10.1.255.1/', allow), 'http://10.1.255.1/');
  assert.equal(outcome('http://[fd00::1]/', allow), 'http://[fd00::1]/');
  assert.equal(outcome('http://localhost:3000/', allow), 'http://localhost:3000/');
  for (const url of [
    'http://10.2.0.1/',
    'http://127.0.0.2/',
    'http://[fe80::1]/',
    'http://crm.internal:22/',
  ]) {
    assert.equal(outcome(url, allow), 'webhook_target_refused', url);
  }
  const guard = createGuard(allow);
  const list: Address[] = [
    { address: '10.1.0.9', family: 4 },
    { address: '10.9.0.9', family: 4 },
    { address: '::ffff:10.9.0.9', family: 6 },
    { address: 'fe80::1%eth0', family: 6 },
    { address: '93.184.216.34', family: 4 },
    { address: 'nonsense', family: 4 },
  ];
  assert.deepEqual(
    guard.allowed('crm.example.com', list).map(({ address }) => address),
    ['10.1.0.9', '93.184.216.34'],
  );
  assert.deepEqual(guard.allowed('crm.internal', list), list, 'whatever a listed name means');
});

test('webhook targets - a name that means another address when it is called gets nothing', async (t) => {
  await using sink = await startSink();
  let answers = '93.184.216.34';
  let asked = 0;
  const resolve = (): Promise<Address[]> => {
    asked += 1;
    return Promise.resolve([{ address: answers, family: 4 }]);
  };
  const rig = await webhooksRig(t, { allow: [], resolve });
  const { webhook } = await rig.create({ url: `http://rebind.example.com:${sink.port}/hook` });
  assert.equal(asked, 1, 'looked at when it was made');
  answers = '127.0.0.1';
  rig.happen(1);
  await until('the attempt', () => rig.one(webhook.id).retrying?.attempts === 1);
  const [line] = await rig.deliveries(webhook.id);
  assert.equal(line!.status, null);
  assert.match(line!.error!, /does not resolve to an address that may be called/);
  assert.equal(sink.connections, 0);
  const tested = await rig.webhooks.service.test(admin, webhook.id);
  assert.deepEqual([tested.delivered, tested.status], [false, null]);
  assert.equal(sink.connections, 0);
  await assert.rejects(rig.create({ url: 'http://rebind.example.com/' }), { code: 'webhook_target_refused' });
});

test('webhook targets - what was allowed when it was made and is no longer is not called', async (t) => {
  await using sink = await startSink();
  const rig = await webhooksRig(t);
  const { webhook } = await rig.create({ url: sink.url });
  await rig.restart({ allow: [] });
  rig.happen(1);
  await until('the attempt', () => rig.one(webhook.id).retrying?.attempts === 1);
  assert.equal(sink.connections, 0);
});

test('webhook targets - a redirect is a failure and is not followed', async (t) => {
  await using inside = await startSink();
  await using sink = await startSink(status(302, { location: inside.url }));
  const rig = await webhooksRig(t);
  const { webhook } = await rig.create({ url: sink.url });
  rig.happen(1);
  await until('the attempt', () => rig.one(webhook.id).retrying?.attempts === 1);
  assert.equal(inside.connections, 0);
  assert.equal((await rig.deliveries(webhook.id))[0]!.status, 302);
});

test('webhooks - an administrator allows a private target without a restart, kept over one, and takes it back', async (t) => {
  const rig = await webhooksRig(t, { allow: ['192.0.2.0/24'] });
  await using sink = await startSink();
  await assert.rejects(rig.create({ url: sink.url }), {
    code: 'webhook_target_refused',
    message: /settings of webhooks/,
  });
  const set = (private_targets: string[]) =>
    rig.webhooks.service.targets.change(admin, WebhookSettings.parse({ private_targets }));
  assert.deepEqual(await set(['127.0.0.1', 'CRM.internal', '10.1.0.0/16']), {
    private_targets: ['127.0.0.1', 'crm.internal', '10.1.0.0/16'],
    fixed_targets: ['192.0.2.0/24'],
  });
  const { id } = (await rig.create({ url: sink.url })).webhook;
  await rig.restart();
  rig.happen(1);
  await until('it', () => sink.received.length === 1);
  await set([]);
  rig.happen(1);
  await until('a refusal', () => rig.one(id).retrying?.seq === 2);
  assert.equal(sink.received.length, 1);
  await set(['127.0.0.0/8']);
  await until('it again, at once', () => sink.received.length === 2);
  const { entries } = await rig.audit.page({ action: 'webhook.configure' });
  assert.deepEqual(
    entries.map((e) => [e.actor, e.detail['private_targets'], e.detail['was_private_targets']]),
    [
      ['ada', '127.0.0.0/8', ''],
      ['ada', '', '127.0.0.1 crm.internal 10.1.0.0/16'],
      ['ada', '127.0.0.1 crm.internal 10.1.0.0/16', ''],
    ],
  );
  for (const wrong of [
    '10.1.0.0/4',
    '10.1',
    '1.2.3.400',
    'a b',
    '',
    'http://crm',
    '::/0',
    '10.0.0.0/33',
    'x_y',
    '*.crm',
  ]) {
    assert.equal(WebhookSettings.safeParse({ private_targets: [wrong] }).success, false, wrong);
  }
  for (const right of ['fc00::/8', '::1', 'crm', 'crm.example.com', '10.0.0.0/8']) {
    assert.equal(WebhookSettings.safeParse({ private_targets: [right] }).success, true, right);
  }
});
