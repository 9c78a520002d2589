import { before, describe, test } from 'node:test';
import { comesInEngine } from '../../server/test/support/steps.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { addExtension, addQueue, applyDraft } from './admin-steps.ts';
import { close, isIn, press, region, showsSignIn } from './desk-steps.ts';
import { buildFirst, consoleOf, openConsole } from './rig.ts';

describe('the story of the console', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();

  test('story - an administrator adds a queue and an agent and applies; the agent logs in and takes a call: by clicks alone', async () => {
    const admin = await consoleOf(site(), browser(), '1001', { path: '/admin/config' });
    const { password } = await addExtension(admin, {
      extension: '1050',
      username: 'nina',
      name: 'Nina Neu',
      level: 'agent',
    });
    await addQueue(admin, { name: 'orders', title: 'Orders', number: '530', members: ['1050'] });
    await applyDraft(admin);
    await admin.getByText('The engine holds the new configuration.').waitFor();

    const agent = await openConsole(site(), browser(), { path: '/desk' });
    await agent.locator('input[name=username]').fill('nina');
    await agent.locator('input[name=password]').fill(password);
    await agent.locator('button[type=submit]').click();
    await press(agent, 'Sign in to all queues');
    await showsSignIn(agent);
    await press(agent, 'Use the phone of this page');
    await agent.getByRole('button', { name: 'Phone: ready' }).waitFor();
    await isIn(agent, 'Available');
    await comesInEngine(site(), 'orders', '1050', /Local/);

    const board = await consoleOf(site(), browser(), '1002', { path: '/wallboard' });
    await using caller = await site().phone('1007');
    const call = await caller.invite('530');
    await isIn(agent, 'A call for you');
    await region(agent, 'Call · Incoming').getByRole('button', { name: 'Answer' }).click();
    await call.answered();
    await call.hears();
    await isIn(agent, 'Talking');
    await board.getByText('Orders').first().waitFor();
    await board.getByText('Nina Neu').first().waitFor();
    await region(agent, 'Call · Incoming').getByRole('button', { name: 'Hang up' }).click();
    await call.ended();
    await agent.getByRole('link', { name: 'History' }).click();
    await agent.getByText('1007').first().waitFor();
    await close(admin, agent, board);
  });
});
