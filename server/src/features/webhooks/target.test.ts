import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSink, status } from '../../../test/support/webhook-sink.ts';
import { admin, webhooksRig } from '../../../test/support/webhooks-rig.ts';
import { until } from '../../../test/support/until.ts';
import { WebhookSettings } from '@offhook/contract/webhooks.ts';
import type { Address } from '../../outbound/address-guard.ts';

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

test('webhook targets - a target that was permitted at its creation and no longer is, is not called', async (t) => {
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
  await until('it', () => rig.one(id).cursor === 1);
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
