// Layout of an icicle (a flame graph that grows downwards) of calling contexts: a box per context, as wide
// as its share of its caller, below its caller. Pure; the flat list of paths that the server tells is made
// a tree here.

export interface IcicleSource {
  path: readonly string[];
  weight: number;
}

export interface IcicleNode<S extends IcicleSource> {
  name: string;
  path: readonly string[];
  depth: number;
  /** What the box is as wide as: its weight, or that of its callees if these have more (parallel calls). */
  size: number;
  source: S | null;
  children: IcicleNode<S>[];
}

export interface IcicleBox<S extends IcicleSource> {
  node: IcicleNode<S>;
  x: number;
  width: number;
  depth: number;
}

export function icicleTree<S extends IcicleSource>(sources: readonly S[]): IcicleNode<S>[] {
  const roots: IcicleNode<S>[] = [];
  const known = new Map<string, IcicleNode<S>>();
  const reach = (path: readonly string[]): IcicleNode<S> => {
    const key = path.join('\u0000');
    const found = known.get(key);
    if (found) return found;
    const node: IcicleNode<S> = {
      name: path[path.length - 1] ?? '',
      path,
      depth: path.length - 1,
      size: 0,
      source: null,
      children: [],
    };
    known.set(key, node);
    if (path.length > 1) reach(path.slice(0, -1)).children.push(node);
    else roots.push(node);
    return node;
  };
  for (const source of sources) {
    if (source.path.length > 0) reach(source.path).source = source;
  }
  const settle = (node: IcicleNode<S>): number => {
    const below = node.children.reduce((sum, child) => sum + settle(child), 0);
    node.size = Math.max(node.source?.weight ?? 0, below);
    node.children.sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1));
    return node.size;
  };
  for (const root of roots) settle(root);
  roots.sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1));
  return roots;
}

export function icicleBoxes<S extends IcicleSource>(
  roots: readonly IcicleNode<S>[],
  width: number,
  smallest = 0.7,
): IcicleBox<S>[] {
  const boxes: IcicleBox<S>[] = [];
  const total = roots.reduce((sum, root) => sum + root.size, 0);
  if (total <= 0) return boxes;
  const place = (nodes: readonly IcicleNode<S>[], x: number, scale: number, depth: number) => {
    let left = x;
    for (const node of nodes) {
      const wide = node.size * scale;
      if (wide >= smallest) {
        boxes.push({ node, x: left, width: wide, depth });
        place(node.children, left, scale, depth + 1);
      }
      left += wide;
    }
  };
  place(roots, 0, width / total, 0);
  return boxes;
}

export function icicleDepth<S extends IcicleSource>(nodes: readonly IcicleNode<S>[]): number {
  return nodes.reduce((deepest, node) => Math.max(deepest, 1 + icicleDepth(node.children)), 0);
}
