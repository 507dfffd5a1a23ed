package dev.holdfast.spring.locked;

import java.util.BitSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.asm.ConstantDynamic;
import org.springframework.asm.Handle;
import org.springframework.asm.Label;
import org.springframework.asm.MethodVisitor;
import org.springframework.asm.Opcodes;
import org.springframework.asm.SpringAsmInfo;
import org.springframework.asm.Type;

/**
 * Follows the code of one instance method, and reports what it calls on {@code this}. For each word of the operand stack it knows
 * whether it is certainly {@code this}: put there from the first local variable, and not touched since. Where branches meet, the frame
 * says how high the stack is, and what lies below the branches is as it was.
 */
final class CallsOnThis extends MethodVisitor {

    private final String type;
    private final Consumer<String> report;
    private final BitSet isThis = new BitSet();
    private int depth;

    /**
     * @param type the internal name of the class
     * @param report is given the name and the descriptor of each method that is called, or referred to
     */
    CallsOnThis(String type, Consumer<String> report) {
        super(SpringAsmInfo.ASM_VERSION);
        this.type = type;
        this.report = report;
    }

    @Override
    public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
        int sizes = Type.getArgumentsAndReturnSizes(descriptor);
        int taken = (sizes >> 2) - (opcode == Opcodes.INVOKESTATIC ? 1 : 0);
        if (opcode != Opcodes.INVOKESTATIC && isThis(depth - taken)) {
            report.accept(name + descriptor);
        }
        replace(taken, sizes & 3);
    }

    @Override
    public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
        int captured = (Type.getArgumentsAndReturnSizes(descriptor) >> 2) - 1;
        if (captured > 0 && isThis(depth - captured)) {
            for (Object argument : arguments) {
                if (argument instanceof Handle handle) {
                    report.accept(handle.getName() + handle.getDesc());
                }
            }
        }
        replace(captured, 1);
    }

    @Override
    public void visitVarInsn(int opcode, int variable) {
        switch (opcode) {
            case Opcodes.ALOAD -> {
                push(1);
                isThis.set(depth - 1, variable == 0);
            }
            case Opcodes.ILOAD, Opcodes.FLOAD -> push(1);
            case Opcodes.LLOAD, Opcodes.DLOAD -> push(2);
            case Opcodes.ISTORE, Opcodes.FSTORE, Opcodes.ASTORE -> pop(1);
            case Opcodes.LSTORE, Opcodes.DSTORE -> pop(2);
            default -> {}
        }
    }

    @Override
    public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
        int size = Type.getType(descriptor).getSize();
        switch (opcode) {
            case Opcodes.GETSTATIC -> push(size);
            case Opcodes.PUTSTATIC -> pop(size);
            case Opcodes.GETFIELD -> replace(1, size);
            default -> pop(1 + size);
        }
    }

    @Override
    public void visitTypeInsn(int opcode, String type) {
        switch (opcode) {
            case Opcodes.NEW -> push(1);
            case Opcodes.ANEWARRAY, Opcodes.INSTANCEOF -> replace(1, 1);
            default -> {} // a cast changes nothing
        }
    }

    @Override
    public void visitIntInsn(int opcode, int operand) {
        if (opcode == Opcodes.NEWARRAY) {
            replace(1, 1);
        } else {
            push(1);
        }
    }

    @Override
    public void visitLdcInsn(Object value) {
        boolean isWide = value instanceof Long
                || value instanceof Double
                || (value instanceof ConstantDynamic computed && computed.getSize() == 2);
        push(isWide ? 2 : 1);
    }

    @Override
    public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
        replace(dimensions, 1);
    }

    @Override
    public void visitJumpInsn(int opcode, Label label) {
        switch (opcode) {
            case Opcodes.GOTO -> {}
            case Opcodes.IFEQ,
                    Opcodes.IFNE,
                    Opcodes.IFLT,
                    Opcodes.IFGE,
                    Opcodes.IFGT,
                    Opcodes.IFLE,
                    Opcodes.IFNULL,
                    Opcodes.IFNONNULL -> pop(1);
            default -> pop(2);
        }
    }

    @Override
    public void visitTableSwitchInsn(int min, int max, Label others, Label... labels) {
        pop(1);
    }

    @Override
    public void visitLookupSwitchInsn(Label others, int[] keys, Label[] labels) {
        pop(1);
    }

    @Override
    public void visitFrame(int kind, int locals, Object @Nullable [] local, int entries, Object @Nullable [] stack) {
        BitSet mayBeThis = new BitSet();
        int words = 0;
        for (int i = 0; i < entries && stack != null; i++) {
            mayBeThis.set(words, type.equals(stack[i]));
            words += Opcodes.LONG.equals(stack[i]) || Opcodes.DOUBLE.equals(stack[i]) ? 2 : 1;
        }
        if (words < depth) {
            pop(depth - words);
        } else {
            push(words - depth);
        }
        isThis.and(mayBeThis);
    }

    @Override
    public void visitInsn(int opcode) {
        if (opcode == Opcodes.DUP) {
            boolean copied = isThis(depth - 1);
            push(1);
            isThis.set(depth - 1, copied);
        } else if (opcode >= Opcodes.DUP_X1 && opcode <= Opcodes.SWAP) {
            shuffle(opcode);
        } else {
            compute(opcode);
        }
    }

    // What these move is not followed: compilers do not use them for the receiver of a call on this.
    private void shuffle(int opcode) {
        switch (opcode) {
            case Opcodes.DUP_X1 -> replace(2, 3);
            case Opcodes.DUP_X2 -> replace(3, 4);
            case Opcodes.DUP2 -> replace(2, 4);
            case Opcodes.DUP2_X1 -> replace(3, 5);
            case Opcodes.DUP2_X2 -> replace(4, 6);
            default -> replace(2, 2);
        }
    }

    private void compute(int opcode) {
        switch (opcode) {
            case Opcodes.LCONST_0, Opcodes.LCONST_1, Opcodes.DCONST_0, Opcodes.DCONST_1 -> push(2);
            case Opcodes.LALOAD, Opcodes.DALOAD -> replace(2, 2);
            case Opcodes.LASTORE, Opcodes.DASTORE -> pop(4);
            case Opcodes.POP, Opcodes.MONITORENTER, Opcodes.MONITOREXIT -> pop(1);
            case Opcodes.POP2 -> pop(2);
            case Opcodes.ARRAYLENGTH -> replace(1, 1);
            case Opcodes.LSHL, Opcodes.LSHR, Opcodes.LUSHR -> pop(1);
            case Opcodes.LCMP, Opcodes.DCMPL, Opcodes.DCMPG -> replace(4, 1);
            case Opcodes.FCMPL, Opcodes.FCMPG -> replace(2, 1);
            case Opcodes.I2L, Opcodes.I2D, Opcodes.F2L, Opcodes.F2D -> replace(1, 2);
            case Opcodes.L2I, Opcodes.L2F, Opcodes.D2I, Opcodes.D2F -> replace(2, 1);
            default -> computeByRange(opcode);
        }
    }

    // In the numbering of instructions, int, long, float and double take turns within each operation.
    private void computeByRange(int opcode) {
        if (opcode >= Opcodes.ACONST_NULL && opcode <= Opcodes.FCONST_2) {
            push(1);
        } else if (opcode >= Opcodes.IALOAD && opcode <= Opcodes.SALOAD) {
            replace(2, 1);
        } else if (opcode >= Opcodes.IASTORE && opcode <= Opcodes.SASTORE) {
            pop(3);
        } else if (opcode >= Opcodes.IADD && opcode <= Opcodes.DREM) {
            pop((opcode - Opcodes.IADD) % 2 == 0 ? 1 : 2);
        } else if (opcode >= Opcodes.ISHL && opcode <= Opcodes.LXOR) {
            pop((opcode - Opcodes.ISHL) % 2 == 0 ? 1 : 2);
        }
    }

    private boolean isThis(int word) {
        return word >= 0 && isThis.get(word);
    }

    private void push(int words) {
        isThis.clear(depth, depth + words);
        depth += words;
    }

    private void pop(int words) {
        int left = Math.max(0, depth - words);
        isThis.clear(left, depth);
        depth = left;
    }

    private void replace(int taken, int given) {
        pop(taken);
        push(given);
    }
}
