/** Tables and indexes of migrations, each as one text. Kysely builds the statements, so that each database gets its own SQL. */
import type { ColumnDefinitionBuilder, SchemaModule } from 'kysely';

/** Takes a text without values, so that nothing outside the code can be part of it. */
type Create = (text: TemplateStringsArray) => Promise<void>;

const MODIFIERS: Readonly<Record<string, (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder>> = {
  'not null': (column) => column.notNull(),
  unique: (column) => column.unique(),
  'primary key': (column) => column.primaryKey(),
  autoincrement: (column) => column.autoIncrement(),
  "default ''": (column) => column.defaultTo(''),
};
const MODIFIER = /not null|unique|primary key|autoincrement|default ''/g;
const COLUMN =
  /^(\w+) (text|integer|bigint|blob)((?: (?:not null|unique|primary key|autoincrement|default ''))*)$/;
const CONSTRAINT = /^constraint (\w+) (primary key|unique) \((.+)\)$/;
const TABLE = /^(\w+) \((.+)\)$/;
const INDEX = /^(unique )?(\w+) on (\w+) \((.+)\)$/;

function read(pattern: RegExp, text: string): RegExpExecArray {
  const found = pattern.exec(text.trim().replaceAll(/\s+/g, ' '));
  if (found === null) throw new Error(`"${text}" does not describe a table, column or index`);
  return found;
}
/**
 * Creates `table (column type modifiers, constraint name primary key (column, column))`. A type is `text`, `integer`, `bigint`
 * or `blob`; modifiers are `not null`, `unique`, `primary key`, `autoincrement` and `default ''`; a constraint may be `unique`.
 */
export function createTable(schema: SchemaModule): Create {
  return async ([text = '']) => {
    const [, name, columns] = read(TABLE, text);
    let table = schema.createTable(name!);
    for (const part of columns!.split(/, (?![^(]*\))/)) {
      if (part.startsWith('constraint ')) {
        const [, constraint, kind, over] = read(CONSTRAINT, part);
        const names = over!.split(', ') as never[];
        table =
          kind === 'unique'
            ? table.addUniqueConstraint(constraint!, names)
            : table.addPrimaryKeyConstraint(constraint!, names);
      } else {
        const [, column, type, modifiers] = read(COLUMN, part);
        table = table.addColumn(column!, type as 'text', (made) =>
          (modifiers!.match(MODIFIER) ?? []).reduce((so_far, one) => MODIFIERS[one]!(so_far), made),
        );
      }
    }
    await table.execute();
  };
}
/** Creates an index `name on table (column, column)`, or `unique name on …`. */
export function createIndex(schema: SchemaModule): Create {
  return async ([text = '']) => {
    const [, unique, name, table, columns] = read(INDEX, text);
    const index = schema.createIndex(name!).on(table!).columns(columns!.split(', '));
    await (unique === undefined ? index : index.unique()).execute();
  };
}
