import { ERRORS } from '@offhook/contract/errors.ts';
import { EVENT_DATA } from '@offhook/contract/events.ts';
import type { EventType } from '@offhook/contract/events.ts';
import { topicsOfType } from '../../rights/topics.ts';

/** Scripts, styles and requests from this service only, nothing inline. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** Text escaped for HTML, also inside an attribute. */
const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (c) => entities[c]!);
/** HTML whose inserted values are escaped. */
function html(parts: TemplateStringsArray, ...values: readonly (string | number | Raw)[]): Raw {
  let text = parts[0]!;
  values.forEach((value, i) => {
    text += (typeof value === 'object' ? value.html : escapeHtml(String(value))) + parts[i + 1]!;
  });
  return { html: text };
}
interface Raw {
  readonly html: string;
}
const page = (title: string, head: Raw, body: Raw): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
        ${head}
      </head>
      <body>
        ${body}
      </body>
    </html> `.html;
const style: Raw = { html: '<link rel="stylesheet" href="/front-door.css">' };

export const errorsPage = (title: string): string =>
  page(
    `${title}: error codes`,
    style,
    html`<main>
      <h1>Error codes</h1>
      <p class="lead">
        Every error is <code>application/problem+json</code>; its <code>code</code> is one of these.
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">Code</th>
            <th scope="col">Status</th>
            <th scope="col">Meaning</th>
            <th scope="col">Try again</th>
          </tr>
        </thead>
        <tbody>
          ${{
            html: Object.entries(ERRORS)
              .map(
                ([code, row]) =>
                  html`<tr id="${code}">
                    <td><code>${code}</code></td>
                    <td>${row.status}</td>
                    <td>${row.title}</td>
                    <td>${row.retry.replace('_', ' a ')}</td>
                  </tr>`.html,
              )
              .join('\n'),
          }}
        </tbody>
      </table>
    </main>`,
  );

export const eventsPage = (title: string): string =>
  page(
    `${title}: events`,
    style,
    html`<main>
      <h1>Events</h1>
      <p class="lead">
        Told on the stream, as server-sent events, by long poll and to webhooks; their fields are in the
        <a href="/api/v1/asyncapi.json">AsyncAPI document</a>.
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col">When</th>
            <th scope="col">Topics</th>
          </tr>
        </thead>
        <tbody>
          ${{
            html: (Object.keys(EVENT_DATA) as EventType[])
              .map(
                (type) =>
                  html`<tr id="${type}">
                    <td><code>${type}</code></td>
                    <td>${EVENT_DATA[type].description ?? ''}</td>
                    <td>${topicsOfType(type).join(', ')}</td>
                  </tr>`.html,
              )
              .join('\n'),
          }}
        </tbody>
      </table>
    </main>`,
  );
