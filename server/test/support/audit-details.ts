import path from 'node:path';
import {
  isCallExpression,
  isIdentifier,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isPropertySignatureDeclaration,
  isShorthandPropertyAssignment,
  isSpreadAssignment,
} from 'typescript/unstable/ast/is';
import type { Expression, Node } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';
import type { Checker, Type } from 'typescript/unstable/sync';
import { lineOf, REPOSITORY } from './sources.ts';

export interface AuditDetails {
  /** Names that the server's code can write in `detail` of an audit entry, each with file and line. */
  readonly names: ReadonlyMap<string, string>;
  /** Files with details whose names are known only at run time. */
  readonly computed: ReadonlySet<string>;
}
const CONFIG = path.join(REPOSITORY, 'tsconfig.json');
const PORT = path.join(REPOSITORY, 'server/src/ports/audit.ts');

/** Finds the details by their types, because many pass through variables and functions. */
export function auditDetails(): AuditDetails {
  const api = new API({ cwd: REPOSITORY });
  try {
    const { program, checker } = api.updateSnapshot({ openProject: CONFIG }).getProject(CONFIG)!;
    const wanted = typeOfDetail(checker, program.getSourceFile(PORT)!);
    const names = new Map<string, string>();
    const computed = new Set<string>();
    for (const name of program.getSourceFileNames()) {
      const file = path.relative(REPOSITORY, name);
      if (!/^server\/src\/.*(?<!\.test)\.ts$/.test(file)) continue;
      const source = program.getSourceFile(name)!;
      if (!/audit|\bLine\b|\bdetail\b/i.test(source.text)) continue;
      for (const node of nodesOf(source)) {
        const type = isValue(node) ? typeIfDetail(checker, node, wanted) : undefined;
        if (type === undefined) continue;
        for (const one of checker.getPropertiesOfType(type))
          names.set(one.name, `${file}:${lineOf(source.text, node.end)}`);
        if (isComputed(checker, type, wanted)) computed.add(file);
      }
    }
    return { names, computed };
  } finally {
    api.close();
  }
}
function typeOfDetail(checker: Checker, port: Node): Type {
  for (const node of nodesOf(port))
    if (isPropertySignatureDeclaration(node) && node.name.getText() === 'detail')
      return checker.getTypeFromTypeNode(node.type!)!;
  throw new Error(`${PORT} has no detail`);
}
function* nodesOf(node: Node): Generator<Node> {
  yield node;
  const inner: Node[] = [];
  node.forEachChild((one) => void inner.push(one));
  for (const one of inner) yield* nodesOf(one);
}
/** An expression that can be a whole detail or a part of one; each question to the compiler costs a message. */
const isValue = (node: Node): node is Expression =>
  isObjectLiteralExpression(node) ||
  ((isIdentifier(node) || isPropertyAccessExpression(node) || isCallExpression(node)) &&
    ((isCallExpression(node.parent) && node.parent.expression !== node) ||
      isPropertyAssignment(node.parent) ||
      isShorthandPropertyAssignment(node.parent) ||
      isSpreadAssignment(node.parent)));
function typeIfDetail(checker: Checker, node: Expression, wanted: Type): Type | undefined {
  const { parent } = node;
  const named =
    (isPropertyAssignment(parent) || isShorthandPropertyAssignment(parent)) &&
    parent.name.getText() === 'detail';
  const context = checker.getContextualType(node);
  const isWanted = context !== undefined && checker.getNonNullableType(context)?.id === wanted.id;
  if (!named && !isWanted) return undefined;
  const type = checker.getTypeAtLocation(node);
  // An entry that is made before it is written has no contextual type.
  return type !== undefined && (isWanted || checker.isTypeAssignableTo(type, wanted)) ? type : undefined;
}
/** Names of `AuditEntry['detail']` itself are found where the value is made. */
const isComputed = (checker: Checker, type: Type, wanted: Type): boolean =>
  (type.isUnionType() ? (type.getTypes() ?? []) : [type]).some(
    (one) => one.id !== wanted.id && checker.getIndexInfosOfType(one).length > 0,
  );
