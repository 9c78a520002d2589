/**
 * Thousands of clients on one core, with their engine: `load.ts <the site, as JSON>`. It prints the `{ port }` of that
 * engine and answers questions over IPC. Clients and engine share a process, so that one clock measures both ends.
 */
import { clients, makeClients, pending, setUp } from './clients.ts';
import { dropAll, openAll } from './connections.ts';
import { startEngine } from './engine.ts';
import { flood } from './flood.ts';
import { play } from './play.ts';
import type { Connected, LoadQuestion, Site } from './questions.ts';
import { expectStored, resetTotals, totals } from './received.ts';
import { extensionAt } from './script.ts';

const [described = '{}'] = process.argv.slice(2);
const site = JSON.parse(described) as Site;
setUp({ site });
const ami = await startEngine(site);

function connected(seconds: number): Connected {
  const { bytes, received, wrong } = totals;
  return { seconds, bytes, received, wrong };
}
async function answer(question: LoadQuestion): Promise<object> {
  switch (question.ask) {
    case 'connect': {
      const { wire, port, topics, snapshot = false, wideFirst = 0, behind = 0 } = question;
      const resume = behind > 0;
      setUp({ wire, port, topics, snapshot, wideFirst, behind, resume });
      if (resume) expectStored();
      pending.failure = null;
      resetTotals();
      makeClients(question.count);
      return connected(await openAll(question.atOnce ?? 64));
    }
    case 'return': {
      const { resume } = question;
      setUp({ behind: 0, resume, snapshot: !resume });
      resetTotals();
      for (const client of clients) client.received = 0;
      const seconds = await openAll(question.atOnce);
      for (const client of clients) {
        if (resume && client.received !== client.missed) totals.wrong += 1;
        client.missed = 0;
      }
      return connected(seconds);
    }
    case 'play':
      return await play(ami, question);
    case 'flood':
      return await flood(ami, question);
    case 'freeze':
      for (const client of clients.slice(0, question.count)) {
        client.frozen = true;
        client.socket.pause();
      }
      return {};
    case 'drop':
      dropAll();
      return {};
    case 'close':
      dropAll();
      makeClients(0);
      return {};
    case 'actions':
      // Pings keep the connection alive without any client.
      return { actions: ami.actions.filter(({ name }) => name !== 'Ping').length };
  }
}
process.on('message', (question: LoadQuestion) => {
  answer(question).then(
    (reply) => process.send?.(reply),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
console.log(JSON.stringify({ port: ami.port, first: extensionAt(0) }));
process.on('SIGTERM', () => process.exit());
