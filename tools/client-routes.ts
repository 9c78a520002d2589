/** client/routes.ts: the only part of the operations the client has at run time, so that it needs no schema. */
import { GROUPS, hasMethod, routeOf } from '@offhook/contract/operations/groups.ts';
import type { Area } from '@offhook/contract/operation.ts';

export function clientRoutes(): string {
  const groups = Object.entries<Area>(GROUPS as unknown as Record<string, Area>).map(
    ([group, operations]) => {
      const lines = Object.entries(operations)
        .filter(([, operation]) => hasMethod(operation))
        .map(([name, operation]) => `    ${name}: '${routeOf(operation)}',\n`);
      return `  ${group}: {\n${lines.join('')}  },\n`;
    },
  );
  return `// Written by \`npm run docs\` from contract/operations.\nexport const ROUTES = {\n${groups.join('')}} as const;\n`;
}
