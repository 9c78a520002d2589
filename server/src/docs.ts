/** Writes the documents that follow from the code, or with `--check` fails when one is not current. */
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ERRORS } from '@offhook/contract/errors.ts';
import { SETTINGS, readConfig } from './config.ts';
import { featureCodesTable } from './features/feature-codes/feature-codes.ts';
import { startService } from './service.ts';

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

/** docs/openapi.json as the service itself serves it; started without an engine in a temporary folder. */
async function openapi(): Promise<string> {
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
    const reply = await fetch(`http://127.0.0.1:${service.address.port}/api/v1/openapi.json`);
    return `${JSON.stringify(await reply.json(), null, 2)}\n`;
  } finally {
    stop.abort();
    await fs.rm(data, { recursive: true, force: true });
  }
}

const documents: Readonly<Record<string, () => string | Promise<string>>> = {
  'settings.md': settingsDocument,
  'errors.md': errorsDocument,
  'feature-codes.md': featureCodesDocument,
  'openapi.json': openapi,
};

if (import.meta.main) {
  const folder = path.resolve(import.meta.dirname, '../../docs');
  for (const [name, write] of Object.entries(documents)) {
    const file = path.join(folder, name);
    const text = await write();
    if (process.argv.includes('--check')) {
      if ((await fs.readFile(file, 'utf8').catch(() => '')) === text) continue;
      console.error(`docs/${name} is not current; write it with: npm run docs`);
      process.exitCode = 1;
    } else {
      await fs.writeFile(file, text);
    }
  }
}
