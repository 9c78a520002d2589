/** The API as a Postman collection (2.1), which Bruno and Insomnia import too; from the OpenAPI document, one folder for each tag. */
import type { OpenApiDocument } from '../server/src/http/openapi.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
}
interface Item {
  readonly name: string;
  readonly request: object;
}
const JSON_TYPE = 'application/json';

export function postmanCollection({ paths, tags = [] }: OpenApiDocument, version: string): string {
  const folders = new Map<string, Item[]>(tags.map((tag) => [(tag as { name: string }).name, []]));
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods)) {
      const {
        summary = path,
        description,
        parameters = [],
        requestBody,
        security,
        tags: of = ['other'],
      } = operation;
      const known = (parameters as readonly Parameter[]).filter(({ name }) => name !== undefined);
      const query = known
        .filter((one) => one.in === 'query')
        .map(({ name, description: about = '', required = false }) => ({
          key: name,
          value: '',
          description: about,
          disabled: !required,
        }));
      const example = requestBody?.content?.[JSON_TYPE]?.example;
      const request = {
        method: method.toUpperCase(),
        description: description ?? '',
        header: requestBody === undefined ? [] : [{ key: 'content-type', value: JSON_TYPE }],
        ...(security?.length === 0 && { auth: { type: 'noauth' } }),
        url: {
          raw: `{{base}}${path}`,
          host: ['{{base}}'],
          path: path
            .split('/')
            .slice(1)
            .map((part) => part.replace(/^\{(\w+)\}$/, ':$1')),
          query,
          variable: known.filter((one) => one.in === 'path').map(({ name }) => ({ key: name, value: '' })),
        },
        ...(example !== undefined && { body: { mode: 'raw', raw: JSON.stringify(example, null, 2) } }),
      };
      const tag = of[0]!;
      folders.set(tag, [...(folders.get(tag) ?? []), { name: summary, request }]);
    }
  const collection = {
    info: {
      name: `Offhook ${version}`,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{key}}', type: 'string' }] },
    variable: [
      { key: 'base', value: 'http://127.0.0.1:8080' },
      { key: 'key', value: '' },
    ],
    item: [...folders].flatMap(([name, item]) => (item.length === 0 ? [] : [{ name, item }])),
  };
  return `${JSON.stringify(collection, null, 2)}\n`;
}
