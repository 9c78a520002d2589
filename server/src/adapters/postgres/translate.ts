import { DataTypeNode, GeneratedNode, OperationNodeTransformer, RawNode } from 'kysely';
import type { ColumnDefinitionNode, KyselyPlugin, OperationNode } from 'kysely';

/**
 * Types of the features as PostgreSQL types: text compared by bytes, 64-bit integers, bytes. With a language collation, `<` and
 * `order by` would differ from the SQLite store.
 */
function typeOf(node: OperationNode): OperationNode {
  if (!DataTypeNode.is(node)) return node;
  switch (node.dataType) {
    case 'text':
      return RawNode.createWithSql('text collate "C"');
    case 'integer':
      return DataTypeNode.create('bigint');
    case 'blob':
      return DataTypeNode.create('bytea');
    default:
      return node;
  }
}

const isInteger = (node: OperationNode): boolean => DataTypeNode.is(node) && node.dataType === 'integer';

class Translator extends OperationNodeTransformer {
  protected override transformColumnDefinition(node: ColumnDefinitionNode): ColumnDefinitionNode {
    const { autoIncrement, ...column } = super.transformColumnDefinition(node);
    // SQLite numbers the rows of every such table that are inserted without a key.
    const numbered = autoIncrement || (column.primaryKey && isInteger(column.dataType));
    return {
      ...column,
      dataType: typeOf(column.dataType),
      ...(numbered ? { generated: GeneratedNode.create({ identity: true, byDefault: true }) } : {}),
    };
  }
}

/** Makes one migration text valid for both stores. */
export function translation(): KyselyPlugin {
  const translator = new Translator();
  return {
    transformQuery: ({ node, queryId }) => translator.transformNode(node, queryId),
    transformResult: async ({ result }) => result,
  };
}
