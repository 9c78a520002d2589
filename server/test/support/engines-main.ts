/** The service with a second engine, which the test runs; a file in the data folder describes it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { nodeId } from '@offhook/contract/ids.ts';
import { CelReader } from '../../src/adapters/asterisk/cel/reader.ts';
import { celFile } from '../../src/adapters/asterisk/conf/instance.ts';
import { MailboxMessages } from '../../src/adapters/asterisk/mailbox-messages.ts';
import { openAsteriskSite } from '../../src/boot/asterisk-site.ts';
import { readConfig } from '../../src/boot/config.ts';
import { startService } from '../../src/boot/service.ts';
import { ENGINES_FILE } from './second-engine.ts';
import type { SecondEngine } from './second-engine.ts';

process.umask(0o077);
const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stopping.abort(name));
const config = readConfig(process.env, process.argv.slice(2));
const { engine, instance } = JSON.parse(
  readFileSync(path.join(config.data, ENGINES_FILE), 'utf8'),
) as SecondEngine;
const service = await startService(config, stopping.signal, undefined, {
  openEngineSite: (options) =>
    openAsteriskSite({
      ...options,
      others: {
        connect: () => async () => ({
          host: '127.0.0.1',
          port: instance.ami_port,
          events: instance.ami_events,
          actions: instance.ami_actions,
        }),
        records: () =>
          new CelReader({
            file: celFile(instance),
            node: nodeId(engine.node),
            log: options.log,
            clock: options.clock,
          }),
        voicemail: () => new MailboxMessages(instance, { clock: options.clock, log: options.log }),
      },
    }),
});
await service.closed;
await service[Symbol.asyncDispose]();
