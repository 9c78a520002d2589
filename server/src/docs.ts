/**
 * Writes the documents that follow from the code. With `--check` it writes nothing and fails when one is not current or
 * the contract lost something since the last release; with `--baseline` the contract as it is now becomes what counts.
 */
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ERRORS } from '@offhook/contract/errors.ts';
import { messageOf } from './core/errors.ts';
import { asyncapiBreaks, openapiBreaks } from './contract-breaks.ts';
import type { Document } from './contract-breaks.ts';
import { apiKeysDocument } from './api-keys-document.ts';
import { eventsDocument } from './events-document.ts';
import { SETTINGS, readConfig } from './config.ts';
import { featureCodesTable } from './features/feature-codes/feature-codes.ts';
import { VERSION, startService } from './service.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** docs/settings.md from the table of settings. */
export function settingsDocument(): string {
  const rows = Object.values(SETTINGS).map((s) => {
    const initial =
      s.name === 'OFFHOOK_CACHE'
        ? '~/.cache/offhook'
        : s.name === 'OFFHOOK_SITE_ZONE'
          ? "the system's"
          : s.initial;
    const shown =
      s.name === 'OFFHOOK_SITE_ZONE' ? "the system's" : initial === '' ? 'none' : `\`${initial}\``;
    return `| \`${s.name}\` | ${shown} | ${cell(s.expects)} | ${cell(s.about)} |`;
  });
  return `# Settings

From the environment, read once at start. A wrong value, or an \`OFFHOOK_\` name that does not exist, is named with what was expected, and nothing is started.

| Setting | Default | Expects | |
|---|---|---|---|
${rows.join('\n')}

\`npm start -- --empty\` seeds only an administrator instead of the demo company.
`;
}

/** docs/errors.md from the registry. */
export function errorsDocument(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, e]) => `| \`${code}\` | ${e.status} | ${e.retry} | ${e.title} |`,
  );
  return `# Errors

Every error is \`application/problem+json\` (RFC 9457) with \`code\` from this table, and \`success: false\` and \`error\` for real clients. \`retry\` says when the same request can help: \`never\`, \`later\`, or \`after_change\` of the request.

| Code | Status | Retry | Title |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** docs/feature-codes.md from the list of codes. */
export const featureCodesDocument = (): string => `# Feature codes

Dialled from any phone of the exchange. They are dialplan, so they work while the service is down; those of agents play one sound for success and another for refusal. Who calls is told by the phone that signed in, never by the caller ID it shows.

${featureCodesTable()}`;

/** Two documents as the service itself serves them; started once without an engine in a temporary folder. */
async function served(): Promise<{ readonly openapi: string; readonly asyncapi: string }> {
  const data = await fs.mkdtemp(path.join(os.tmpdir(), 'offhook-docs-'));
  const stop = new AbortController();
  try {
    await using service = await startService(
      readConfig({
        OFFHOOK_DATA: data,
        OFFHOOK_LISTEN: '127.0.0.1:0',
        OFFHOOK_ASTERISK: path.join(data, 'none'),
        OFFHOOK_LOG_LEVEL: 'silent',
      }),
      stop.signal,
      () => undefined,
    );
    const get = async (name: string): Promise<string> => {
      const reply = await fetch(`http://127.0.0.1:${service.address.port}/api/v1/${name}`);
      return `${JSON.stringify(await reply.json(), null, 2)}\n`;
    };
    return { openapi: await get('openapi.json'), asyncapi: await get('asyncapi.json') };
  } finally {
    stop.abort();
    await fs.rm(data, { recursive: true, force: true });
  }
}

async function documents(): Promise<Readonly<Record<string, string>>> {
  const { openapi, asyncapi } = await served();
  return {
    'settings.md': settingsDocument(),
    'errors.md': errorsDocument(),
    'feature-codes.md': featureCodesDocument(),
    'events.md': eventsDocument(),
    'api-keys.md': apiKeysDocument(JSON.parse(openapi) as Parameters<typeof apiKeysDocument>[0]),
    'openapi.json': openapi,
    'asyncapi.json': asyncapi,
  };
}
/** What a client of the last release relies on and would miss now, in words. */
async function breaks(now: Readonly<Record<string, string>>, baseline: string): Promise<string[]> {
  const found = await Promise.all(
    (['openapi.json', 'asyncapi.json'] as const).map(async (name) => {
      const before = JSON.parse(await fs.readFile(path.join(baseline, name), 'utf8')) as Document;
      const after = JSON.parse(now[name] ?? '{}') as Document;
      return (name === 'openapi.json' ? openapiBreaks : asyncapiBreaks)(before, after);
    }),
  );
  return found.flat();
}
/** A break is taken into the baseline only with a version that says so: another major, or before 1.0 another minor. */
const announces = (before: string, after: string): boolean => {
  const [major, minor] = before.split('.');
  const [newMajor, newMinor] = after.split('.');
  return newMajor !== major || (major === '0' && newMinor !== minor);
};
async function versionOf(file: string): Promise<string> {
  const text = await fs.readFile(file, 'utf8').catch(() => '{"info":{"version":"0.0.0"}}');
  return (JSON.parse(text) as { info: { version: string } }).info.version;
}

if (import.meta.main) {
  const folder = path.resolve(import.meta.dirname, '../../docs');
  const baseline = path.join(folder, 'contract-baseline');
  const now = await documents();
  const lost = await breaks(now, baseline).catch((error: unknown) => [`no baseline: ${messageOf(error)}`]);
  if (process.argv.includes('--check')) {
    for (const [name, text] of Object.entries(now)) {
      if ((await fs.readFile(path.join(folder, name), 'utf8').catch(() => '')) === text) continue;
      console.error(`docs/${name} is not current; write it with: npm run docs`);
      process.exitCode = 1;
    }
    if (lost.length > 0) process.exitCode = 1;
  } else {
    for (const [name, text] of Object.entries(now)) await fs.writeFile(path.join(folder, name), text);
  }
  for (const line of lost) console.error(`breaks clients of the last release: ${line}`);
  if (process.argv.includes('--baseline')) {
    const released = await versionOf(path.join(baseline, 'openapi.json'));
    if (lost.length > 0 && !announces(released, VERSION)) {
      console.error(
        `the baseline of ${released} stays: a break needs a version that says so (CONTRIBUTING.md)`,
      );
      process.exitCode = 1;
    } else {
      await fs.mkdir(baseline, { recursive: true });
      for (const name of ['openapi.json', 'asyncapi.json']) {
        await fs.copyFile(path.join(folder, name), path.join(baseline, name));
      }
    }
  }
}
