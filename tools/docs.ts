/**
 * Writes the documents derived from the code; `docs/openapi.json`, `docs/asyncapi.json` and `docs/offhook.postman.json` are for readers and not in the
 * repository. `--check` writes nothing and fails when a document is not current or the contract lost something since the last
 * release; `--baseline` makes the current contract the baseline.
 */
import fs from 'node:fs/promises';
import path from 'node:path';
import { ERRORS } from '@offhook/contract/errors.ts';
import { z } from 'zod';
import { messageOf } from '../server/src/core/errors.ts';
import { asyncapiBreaks, openapiBreaks } from './contract-breaks.ts';
import type { Document } from './contract-breaks.ts';
import { clientRoutes } from './client-routes.ts';
import { CONTRACTS, baselineOf, contractDocument, contractFolder } from './contract-documents.ts';
import { apiKeysDocument } from './api-keys-document.ts';
import { postmanCollection } from './postman.ts';
import { eventsDocument } from './events-document.ts';
import { SETTINGS } from '../server/src/boot/settings.ts';
import { VERSION } from '../server/src/boot/config.ts';
import { ConnectorDocument } from '../server/src/features/connectors/format/file.ts';
import { featureCodesTable } from '../server/src/features/feature-codes/feature-codes.ts';

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

The service reads its settings from the environment once, at its start. It reports a wrong value, or an \`OFFHOOK_\` name that does not exist, with what it expects instead, and does not start.

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

Every error is \`application/problem+json\` (RFC 9457) with a \`code\` of this table, and with \`success: false\` and \`error\` for existing clients. \`retry\` states when a repeated request can succeed: \`never\`, \`later\`, or \`after_change\` of the request.

| Code | Status | Retry | Title |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** docs/feature-codes.md from the list of codes. */
export const featureCodesDocument = (): string => `# Feature codes

People dial these codes from any phone of the exchange. The codes are part of the dialplan, so they work while the service is down. Codes for agents play one sound for success and another for a refusal. The engine identifies the caller by the registered phone, never by the caller ID that the phone sends.

${featureCodesTable()}`;

/** docs/connector.schema.json, for editors of connector files. */
const connectorSchema = (): string =>
  `${JSON.stringify(z.toJSONSchema(ConnectorDocument, { io: 'input', reused: 'ref' }), null, 2)}\n`;

/** The API for Postman and Bruno. */
const collection = async (): Promise<string> => postmanCollection(await contractDocument('openapi'), VERSION);

async function documents(): Promise<Readonly<Record<string, string>>> {
  return {
    'settings.md': settingsDocument(),
    'errors.md': errorsDocument(),
    'feature-codes.md': featureCodesDocument(),
    'events.md': eventsDocument(),
    'connector.schema.json': connectorSchema(),
    'api-keys.md': apiKeysDocument(await contractDocument('openapi')),
    '../client/routes.ts': clientRoutes(),
  };
}
/** Everything a client of the last release would lose now. */
async function breaks(baseline: string): Promise<string[]> {
  const found = await Promise.all(
    CONTRACTS.map(async (name) => {
      const before = JSON.parse(await fs.readFile(path.join(baseline, `${name}.json`), 'utf8')) as Document;
      return (name === 'openapi' ? openapiBreaks : asyncapiBreaks)(before, await contractDocument(name));
    }),
  );
  return found.flat();
}
/** A break enters the baseline only with a new version: another major, or before 1.0 another minor. */
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
  const folder = path.resolve(import.meta.dirname, '../docs');
  const baseline = path.join(folder, 'contract-baseline');
  const now = await documents();
  const lost = await breaks(baseline).catch((error: unknown) => [`no baseline: ${messageOf(error)}`]);
  if (process.argv.includes('--check')) {
    for (const [name, text] of Object.entries(now)) {
      if ((await fs.readFile(path.join(folder, name), 'utf8').catch(() => '')) === text) continue;
      console.error(`${path.join('docs', name)} is not current; write it with: npm run docs`);
      process.exitCode = 1;
    }
    if (lost.length > 0) process.exitCode = 1;
  } else {
    for (const [name, text] of Object.entries(now)) await fs.writeFile(path.join(folder, name), text);
    await fs.cp(await contractFolder(), folder, { recursive: true });
    await fs.writeFile(path.join(folder, 'offhook.postman.json'), await collection());
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
      for (const name of CONTRACTS)
        await fs.writeFile(path.join(baseline, `${name}.json`), baselineOf(await contractDocument(name)));
    }
  }
}
