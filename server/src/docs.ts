/** Writes the documents that follow from the code, or with `--check` fails when one is not current. */
import fs from 'node:fs';
import path from 'node:path';
import { SETTINGS } from './config.ts';
import { ERRORS } from '@offhook/contract/errors.ts';

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
    return `| \`${s.name}\` | ${initial === '' ? 'none' : `\`${initial}\``} | ${cell(s.expects)} | ${cell(s.about)} |`;
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
