import { DataTypeNode, GeneratedNode, OperationNodeTransformer, RawNode } from 'kysely';
import type { ColumnDefinitionNode, KyselyPlugin, OperationNode } from 'kysely';

/**
 * The types that features write, as PostgreSQL has them: text that compares by its bytes, whole numbers of 64 bits, bytes.
 * Where a database compares text by a language, `<` and `order by` would not agree with the other store.
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

class Translator extends OperationNodeTransformer {
  protected override transformColumnDefinition(node: ColumnDefinitionNode): ColumnDefinitionNode {
    const { autoIncrement, ...column } = super.transformColumnDefinition(node);
    return {
      ...column,
      dataType: typeOf(column.dataType),
      ...(autoIncrement ? { generated: GeneratedNode.create({ identity: true, byDefault: true }) } : {}),
    };
  }
}

/** One text of a migration for both stores. */
export function translation(): KyselyPlugin {
  const translator = new Translator();
  return {
    transformQuery: ({ node, queryId }) => translator.transformNode(node, queryId),
    transformResult: async ({ result }) => result,
  };
}
